import type { Material } from '../domain/material.js';
import type { Database } from './connect.js';
import { readFacets } from './facets.js';
import type { ListFilters } from './facets.js';
import {
  facetCondition,
  gatherSql,
  pageOrder,
  sameShop,
  searchCondition,
  shapeOf,
  walkRowsMax,
  walkSql,
} from './material-page.js';
import type { PageShape, SortKey } from './material-page.js';
import { materialColumns, toMaterial } from './material-rows.js';
import type { MaterialRow } from './material-rows.js';

/** Every rule of the list (contract §2 "List"), validated and with its defaults filled in. */
export interface MaterialListQuery extends ListFilters {
  /** 1 … 1,000,000. */
  page: number;
  /** 1 … 1,000. */
  pageSize: number;
  /** A substring of product name, variant name, sku or vendor, without regard to case; absent or empty is none. */
  search?: string | undefined;
  sortBy: SortKey;
  sortOrder: 'asc' | 'desc';
}

export interface MaterialPage {
  items: Material[];
  /** Of all that match, on whatever page. */
  totalCount: number;
  /** Every distinct vendor of the shop whatever the filters, sorted without regard to case. */
  availableVendors: string[];
}

/**
 * A page of a shop's materials. Nulls come last in both directions, and ties go by id, ascending, so that pages neither
 * overlap nor leave out.
 *
 * Without a search the number of matches is read from counters (migration 0003); with one, all matches are visited. The
 * page is a later statement, since the number says how it is found best: what is created or deleted in between shows in
 * the page and not in the number.
 */
export async function listMaterials(
  database: Database,
  shopId: number,
  query: MaterialListQuery,
): Promise<MaterialPage> {
  const { page, pageSize, search = '', sortOrder, vendorFilter } = query;
  const { ids, groups, matchedCount, groupCount, vendors } = await readFacets(database, shopId, query);
  const shape = shapeOf(query, groups);
  const skipped = (page - 1) * pageSize;
  const pattern = `%${escapePattern(search)}%`;
  const bindings = { shopId, facetIds: ids, vendorFilter: [...vendorFilter], pattern, pageSize, skipped };
  const totalCount = shape.bySearch ? await countMatches(database, shape, bindings) : matchedCount;
  const found = { totalCount, availableVendors: vendors };
  if (skipped >= totalCount) return { ...found, items: [] };
  const read = async (pageIds: string, more: Record<string, number> = {}) => {
    const { rows } = await database.raw<{ rows: MaterialRow[] }>(itemsSql(pageIds, sortOrder), {
      ...bindings,
      ...more,
    });
    return rows.map(toMaterial);
  };
  const counts = { matched: totalCount, inGroups: groupCount, toPageEnd: skipped + pageSize };
  const rowsMax = walkRowsMax(shape, counts);
  const walked = rowsMax === 0 ? [] : await read(walkSql(shape), { walkRowsMax: rowsMax });
  const isWhole = walked.length >= Math.min(pageSize, totalCount - skipped);
  return { ...found, items: isWhole ? walked : await read(gatherSql(shape)) };
}

async function countMatches(
  database: Database,
  { byFacet }: PageShape,
  bindings: Record<string, string | number | string[] | number[]>,
): Promise<number> {
  const { rows } = await database.raw<{ rows: [{ count: number }] }>(countSql(byFacet), bindings);
  return rows[0].count;
}

const countSql = (byFacet: boolean) => `
  SELECT count(*)::integer AS count FROM materials m
  WHERE m.shop_id = ${sameShop} AND ${searchCondition}
    ${byFacet ? `AND ${facetCondition}` : ''}`;

/** Usage is counted for the page's rows only, not for every row that a deep page skips. */
const itemsSql = (pageIds: string, sortOrder: 'asc' | 'desc') => `
  SELECT ${materialColumns}
  FROM (${pageIds}) page
  JOIN materials m ON m.shop_id = ${sameShop} AND m.id = page.id
  JOIN stock s ON s.shop_id = ${sameShop} AND s.material_id = page.id
  ORDER BY ${pageOrder(sortOrder).replaceAll(/\b(key|id)\b/g, 'page.$1')}`;

/** `%`, `_` and the escape character itself are ordinary characters in a search. */
function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

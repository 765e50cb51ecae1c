import type { SortKey } from '../domain/list-order.js';
import type { Material } from '../domain/material.js';
import type { Database } from './connect.js';
import { readFacets } from './facets.js';
import type { ListFilters } from './facets.js';
import { gatherSql, isWalked, pageOfSql, pageOrder, shapeOf, walkSql } from './material-page-sql.js';
import type { PageShape } from './material-page-sql.js';
import { materialColumns, toMaterial } from './material-rows.js';
import { opaqueShopId } from './opaque-shop-id.js';
import { bytesBeyond, fetchedCondition, isMeasured, measuringColumns } from './page-text.js';
import type { PageRow } from './page-text.js';
import { readRows } from './read-rows.js';
import type { Bindings } from './read-rows.js';

/** A query of the list (contract §2 "List"), validated and with its defaults filled in. */
export interface MaterialListQuery extends ListFilters {
  /** 1 … 1,000,000. */
  page: number;
  /** 1 … 1,000. */
  pageSize: number;
  /** A substring of product name, variant name, sku or vendor, without regard to case; absent or empty is none. */
  search?: string | undefined;
  sortBy: SortKey;
  sortOrder: 'asc' | 'desc';
  /** How many bytes the texts of the page may take as JSON; absent is any number. */
  textBytesMax?: number;
  /** Likewise those of `availableVendors`, which is cut. */
  vendorBytesMax?: number;
}

export interface MaterialPage {
  items: Material[];
  /** How many bytes the texts of the page take, if that is more than `textBytesMax`; then there are no items. */
  refusedBytes?: number;
  /** How many materials match, on all pages. */
  totalCount: number;
  /**
   * Every distinct vendor of the shop whatever the filters, sorted without regard to case; the first of them, if that
   * is more than `vendorBytesMax`.
   */
  availableVendors: string[];
}

/**
 * A page of a shop's materials. Nulls come last in both directions, and ties go by id, ascending, so that pages neither
 * overlap nor leave anything out.
 *
 * Without a search the number of matches is read from counters (migration 0003). The page is read by a second
 * statement, because the number decides how it is best found; what is created or deleted in between is seen only by the
 * page. With a search, all matches are visited once, for both the number and the page. If vendors are asked for, or a
 * search has filters, the page goes by facets that the first statement found: it lacks a material that comes to a new
 * facet in between, as when the first bill begins to use one of that vendor.
 */
export async function findMaterialPage(
  database: Database,
  shopId: number,
  query: MaterialListQuery,
): Promise<MaterialPage> {
  const { page, pageSize, search = '', sortOrder, vendorFilter, textBytesMax } = query;
  const facets = await readFacets(database, shopId, query);
  const { ids, matchedCount, groupCount, shopCount, vendors } = facets;
  if (isLongerThanAnyText(search)) return { items: [], totalCount: 0, availableVendors: vendors };
  const shape = shapeOf(query, facets);
  const bound = isMeasured(pageSize, textBytesMax) ? textBytesMax : undefined;
  const isJoined = shopCount >= pageSize * pagesJoinedMin && shopCount <= pageSize * pagesJoinedMax;
  const fetching = { bound, byKey: !isJoined };
  const skipped = (page - 1) * pageSize;
  const pattern = `%${escapePattern(search)}%`;
  const bindings = { shopId, facetIds: ids, vendorFilter, pattern, pageSize, skipped, textBytesMax: bound ?? null };
  if (shape.bySearch) return { ...(await searchPage(database, shape, bindings, fetching)), availableVendors: vendors };
  const found = { totalCount: matchedCount, availableVendors: vendors };
  if (skipped >= matchedCount) return { ...found, items: [] };
  const toPageEnd = skipped + pageSize;
  const counts = { matched: matchedCount, inGroups: groupCount, toPageEnd };
  const pageIds = isWalked(shape, counts)
    ? walkSql(shape, nextPowerOfTwo(toPageEnd))
    : pageOfSql(`(${gatherSql(shape)}) gathered`, sortOrder);
  // With the page size as a literal, the planner knows how few rows a page has, and one plan is good for all values.
  // Not so for vendors: how many materials they have decides how these are best found.
  const sql = itemsSql(pageIds, shape, fetching).replaceAll(':pageSize', String(pageSize));
  const rows = await readRows<PageRow>(database, sql, bindings, { planEachTime: shape.byVendor });
  return { ...found, ...itemsOf(rows, bound) };
}

/** How the rows of a page are fetched. */
interface Fetching {
  /** The bytes that the texts may take, for a page that is measured. */
  bound: number | undefined;
  /** Each row is looked up by its key; otherwise the planner may also read all of the shop's rows and join them. */
  byKey: boolean;
}

/**
 * In a shop of so many pages, rows may be joined, which is cheaper than to look them up one by one (13 instead of 17 ms,
 * if a page of 1,000 is all that the shop has). In a larger shop among thousands of small ones, the planner might expect
 * no more rows than these have, and read all of the shop's stock for a page of fifty: 150,000 rows, 121 instead of 1.4
 * ms. In a smaller one it expects far more rows than there are (migrations 0012 and 0015): a page of 1,000 that has
 * five took 2.1 instead of 0.9 ms.
 */
const [pagesJoinedMin, pagesJoinedMax] = [0.5, 4];

/** @param bound the bytes that the texts may take, for a page that is measured */
function itemsOf(rows: PageRow[], bound: number | undefined): Pick<MaterialPage, 'items' | 'refusedBytes'> {
  const refusedBytes = bound === undefined ? undefined : bytesBeyond(bound, rows);
  return refusedBytes === undefined ? { items: rows.map(toMaterial) } : { items: [], refusedBytes };
}

/** So that pages of about the same depth have the same statement. */
const nextPowerOfTwo = (count: number) => 2 ** Math.ceil(Math.log2(count));

async function searchPage(
  database: Database,
  shape: PageShape,
  bindings: Bindings,
  fetching: Fetching,
): Promise<Omit<MaterialPage, 'availableVendors'>> {
  type Row = { total_count: number } & (PageRow | { id: null });
  // What is cheapest depends on how common the text is, which only a plan for this text can know.
  const rows = await readRows<Row>(database, searchSql(shape, fetching), bindings, { planEachTime: true });
  const items = rows.filter((row): row is Row & PageRow => row.id !== null);
  return { ...itemsOf(items, fetching.bound), totalCount: rows[0]?.total_count ?? 0 };
}

/** If the page is empty, it gives one row with only the number of matches. */
const searchSql = (shape: PageShape, fetching: Fetching) => `
  WITH gathered AS MATERIALIZED (${gatherSql(shape)})
  SELECT counted.total_count, items.*
  FROM (SELECT count(*)::integer AS total_count FROM gathered) counted
  LEFT JOIN (${itemsOfPage(pageOfSql('gathered', shape.sortOrder), fetching)}) items ON ${fetched(fetching)}
  ${inPageOrder(shape)}`;

const itemsSql = (pageIds: string, shape: PageShape, fetching: Fetching) =>
  `SELECT items.* FROM (${itemsOfPage(pageIds, fetching)}) items WHERE ${fetched(fetching)} ${inPageOrder(shape)}`;

const fetched = ({ bound }: Fetching) => (bound === undefined ? 'true' : fetchedCondition);

/** Usage is counted only for the page's rows, not for every row that a deep page skips. */
const itemsOfPage = (pageIds: string, { bound, byKey }: Fetching) => `
  SELECT page.key, ${materialColumns}${bound === undefined ? '' : `, ${measuringColumns}`}
  FROM (${pageIds}) page ${byKey ? rowsByKey : rowsJoined}`;

const rowsJoined = `
  JOIN materials m ON m.shop_id = ${opaqueShopId} AND m.id = page.id
  JOIN stock s ON s.shop_id = ${opaqueShopId} AND s.material_id = page.id`;

/** OFFSET 0 makes the planner look up each row by its whole key, whatever it expects of the shop. */
const rowsByKey = `
  CROSS JOIN LATERAL (SELECT * FROM materials WHERE shop_id = ${opaqueShopId} AND id = page.id OFFSET 0) m
  CROSS JOIN LATERAL (SELECT * FROM stock WHERE shop_id = ${opaqueShopId} AND material_id = page.id OFFSET 0) s`;

const inPageOrder = ({ sortOrder }: PageShape) =>
  `ORDER BY ${pageOrder(sortOrder).replaceAll(/\b(key|id)\b/g, 'items.$1')}`;

/** A text that is searched has at most 255 characters, and in lower case perhaps twice as many (`İ` becomes two). */
const searchCharactersMax = 2 * 255;

/**
 * Such a search finds nothing, and is not asked: Postgres lower-cases the pattern anew for each text. With 20,000
 * materials a pattern of 15,000 characters took longer than the five seconds of a read, and went on in Postgres after
 * that.
 */
function isLongerThanAnyText(search: string): boolean {
  return search.length > searchCharactersMax && Array.from(search).length > searchCharactersMax;
}

/** `%`, `_` and the escape character itself are ordinary characters in a search. */
function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

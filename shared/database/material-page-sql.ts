import type { SortKey } from '../domain/list-order.js';
import { groupsOf } from './facets.js';
import type { ListFilters, MatchedFacets } from './facets.js';
import { opaqueShopId } from './opaque-shop-id.js';

/**
 * The ids of a page of the list, as SQL. There are two ways to find them. Which is cheaper depends on how many
 * materials match, which is known by then except for a search:
 *
 * - *walk* along the indexes of the sort key until the page is full, past everything that the page skips and, where
 *   vendors are asked for, all that does not match. No table is read.
 * - *gather* everything that matches, by an index of the facets or of the search, and sort it. Without a search no
 *   table is read here either; a search always gathers, since its matches must be visited anyway to be counted.
 *
 * The planner could choose by itself, but only as well as its statistics allow. So each way is written in a form in
 * which the planner cannot choose the other: `OFFSET 0` keeps a subquery as it is, and the indexes of facets and search
 * need conditions that a walk does not have.
 */

interface SortColumn {
  table: 'materials' | 'stock';
  key: string;
  isNullable: boolean;
}

/**
 * Texts are sorted by their lower-case copies (migration 0003). To be read without its table, a column stands in two
 * indexes: one of its own for walks, as migration 0003 makes them, and for what is gathered that of the facets
 * (migration 0006). `test/unit/database/list-plans.test.ts` holds each sort key to both.
 */
const sortColumns: Readonly<Record<SortKey, SortColumn>> = {
  productName: { table: 'materials', key: 'm.product_name_order', isNullable: false },
  variantName: { table: 'materials', key: 'm.variant_name_order', isNullable: true },
  sku: { table: 'materials', key: 'm.sku_order', isNullable: true },
  vendor: { table: 'materials', key: 'm.vendor_order', isNullable: true },
  unitCost: { table: 'materials', key: 'm.unit_cost', isNullable: true },
  inventoryQuantity: { table: 'stock', key: 's.total_quantity', isNullable: false },
  updatedAt: { table: 'stock', key: 's.updated_at', isNullable: false },
};

export interface PageShape {
  sortBy: SortKey;
  sortOrder: 'asc' | 'desc';
  /** The groups of facets (migration 0003) that are asked for, each a number from 0 to 3. */
  groups: readonly number[];
  /** Whether only some facets are asked for, `:facetIds`. */
  byFacet: boolean;
  /** Whether only vendors are asked for, `:vendorFilter`; then `byFacet` is true as well. */
  byVendor: boolean;
  /** Whether only what holds `:pattern` is asked for. */
  bySearch: boolean;
  /** Whether the search gives the trigram index nothing to look for. */
  lacksTrigram: boolean;
  /** Whether the shop has most of the materials of all shops. */
  hasMostOfTable: boolean;
}

/**
 * A search with a trigram that the index can look for: three letters or digits, or fewer at the edge of a word, since
 * pg_trgm adds two blanks before and one after each word. For `---`, which has none, the whole index would be read.
 */
const trigram = /[\p{L}\p{N}]{3}|[\p{L}\p{N}]{2}[^\p{L}\p{N}]|[^\p{L}\p{N}][\p{L}\p{N}]/u;
const trigramLength = 3;

/**
 * In a shop with this part of all materials or more, a search looks for the texts in all shops and then drops those of
 * others. To search in one shop alone, the trigram index has to read the list of all of its materials: for a million,
 * 13 of the 17 ms of a search that finds 1,200. In a smaller shop, the other shops' matches of a common text cost more.
 */
const mostOfTable = 0.8;

export function shapeOf(
  query: ListFilters & { sortBy: SortKey; sortOrder: 'asc' | 'desc'; search?: string | undefined },
  { tablePart }: Pick<MatchedFacets, 'tablePart'>,
): PageShape {
  const { sortBy, sortOrder, usageFilter, originFilter, vendorFilter, search = '' } = query;
  const groups = groupsOf(query);
  const byVendor = vendorFilter.length > 0;
  const byFacet = byVendor || usageFilter !== 'all' || originFilter !== 'all';
  const bySearch = search !== '';
  const lacksTrigram = bySearch && (search.length < trigramLength || !trigram.test(search));
  const hasMostOfTable = tablePart >= mostOfTable;
  return { sortBy, sortOrder, groups, byFacet, byVendor, bySearch, lacksTrigram, hasMostOfTable };
}

/** Nulls come last in both directions, and ties go by id, ascending in both. */
export const pageOrder = (sortOrder: 'asc' | 'desc') => (sortOrder === 'desc' ? 'key DESC NULLS LAST, id' : 'key, id');

/** The shop's rows of the facets, by the indexes on these expressions, which include the sort keys (migration 0006). */
const facetCondition = (alias: 'm' | 's') =>
  `${alias}.shop_id + 0 = ${opaqueShopId} AND ${alias}.facet_id + 0 = ANY(CAST(:facetIds AS integer[]))`;

/** By the trigram index, which has the texts as they are. */
const searchCondition = `(m.product_name ILIKE :pattern OR m.variant_name ILIKE :pattern
  OR m.sku ILIKE :pattern OR m.vendor ILIKE :pattern)`;

/** The same if that index is of no use. The stored lower-case copies halve the cost of lower-casing each row. */
const unindexedSearchCondition = `(m.product_name_order LIKE lower(:pattern) OR m.variant_name_order LIKE lower(:pattern)
  OR m.sku_order LIKE lower(:pattern) OR m.vendor_order LIKE lower(:pattern))`;

/** The shop's rows, in a form that no index has. */
const ownCondition = `m.shop_id - 0 = ${opaqueShopId}`;

/**
 * What a row costs each way, in µs with a million materials; only the ratio matters. To walk past one costs 0.08 to
 * 0.1, to gather and sort one 0.14 to 0.45: less if there are more of them, and if the page is nearer to the first.
 */
const costs = { walked: 0.1, gathered: 0.25 };

/**
 * Whether walking is cheaper than gathering; never asked for a search.
 *
 * @param counts materials that match, materials of the groups, and rows from the first to the end of the page
 */
export function isWalked(
  { byVendor }: PageShape,
  { matched, inGroups, toPageEnd }: { matched: number; inGroups: number; toPageEnd: number },
): boolean {
  if (!byVendor) return true;
  const rowsToWalk = Math.min(inGroups, (toPageEnd * inGroups) / matched);
  return rowsToWalk * costs.walked < matched * costs.gathered;
}

/** The `id` and `key` of everything that matches. Without a search it reads only the table of the key. */
export function gatherSql(shape: PageShape): string {
  if (shape.bySearch) return gatherBySearchSql(shape);
  const { table } = sortColumns[shape.sortBy];
  const [alias, id] = table === 'stock' ? (['s', 's.material_id'] as const) : (['m', 'm.id'] as const);
  const condition = shape.byFacet ? facetCondition(alias) : `${alias}.shop_id = ${opaqueShopId}`;
  return `SELECT ${id} AS id, ${comparable(shape.sortBy)} AS key FROM ${table} ${alias} WHERE ${condition} OFFSET 0`;
}

/**
 * The key in the form that is cheapest to sort: as decimals, 30,000 take a tenth longer. The order stays the same,
 * because no two different keys become the same double: within their bounds (±8e9, in steps of 1e-6) doubles are at
 * most 9.5e-7 apart.
 */
function comparable(sortBy: SortKey): string {
  const { key } = sortColumns[sortBy];
  return sortBy === 'unitCost' || sortBy === 'inventoryQuantity' ? `CAST(${key} AS float8)` : key;
}

function gatherBySearchSql({ sortBy, byFacet, lacksTrigram, hasMostOfTable }: PageShape): string {
  const { table } = sortColumns[sortBy];
  const key = comparable(sortBy);
  const ofShop = hasMostOfTable ? ownCondition : `m.shop_id = ${opaqueShopId}`;
  const matches = lacksTrigram ? unindexedSearchCondition : searchCondition;
  const filter = byFacet ? ` AND ${facetCondition('m')}` : '';
  // In a join, each look-up would go through a cache that never has it: 36 instead of 25 ms for 10,000.
  const keyOfStock = `(SELECT ${key} FROM stock s WHERE s.shop_id = ${opaqueShopId} AND s.material_id = m.id)`;
  return `
    SELECT m.id, ${table === 'stock' ? keyOfStock : key} AS key FROM materials m
    WHERE ${ofShop} AND ${matches}${filter} OFFSET 0`;
}

/** The page's `id` and `key`, from what was gathered. */
export const pageOfSql = (gathered: string, sortOrder: 'asc' | 'desc') =>
  `SELECT id, key FROM ${gathered} ORDER BY ${pageOrder(sortOrder)} LIMIT :pageSize OFFSET :skipped`;

/**
 * The page's `id` and `key`, in no order, of `:pageSize` rows after `:skipped`; never for a search.
 *
 * @param reach at least the number of rows up to the page's end
 */
export function walkSql(shape: PageShape, reach: number): string {
  const { key, isNullable } = sortColumns[shape.sortBy];
  const walk = walker(shape, reach);
  if (shape.sortOrder === 'asc') return `${walk('', 'key, id')} LIMIT :pageSize OFFSET :skipped`;
  return descendingSql(walk, { key, isNullable });
}

/** The ids and keys that meet a condition on the key, in an order by `key` and `id` that an index can give. */
type Walk = (condition: string, order: string) => string;

function walker({ sortBy, groups, byVendor }: PageShape, reach: number): Walk {
  const { table, key } = sortColumns[sortBy];
  const [alias, id] = table === 'stock' ? ['s', 's.material_id'] : ['m', 'm.id'];
  const filters: string[] = [];
  if (byVendor) filters.push(`${alias}.facet_id = ANY(CAST(:facetIds AS integer[]))`);
  // In the order of vendors, a vendor's materials are all together. With these bounds the walk begins there.
  if (byVendor && sortBy === 'vendor') filters.push(`${key} BETWEEN ${vendorBound('min')} AND ${vendorBound('max')}`);
  return (condition, order) => {
    // No arm has to give more rows than there are up to the page's end. The limit is a literal, because for a parameter
    // the planner would expect a tenth of all rows, and prefer to read the tables.
    const arms = groups.map((group) => {
      const conditions = [`${alias}.shop_id = ${opaqueShopId}`, `(${alias}.facet_id & 3) = ${group}`, ...filters];
      if (condition !== '') conditions.push(condition);
      return `(SELECT ${id} AS id, ${key} AS key FROM ${table} ${alias} WHERE ${conditions.join(' AND ')}
               ORDER BY ${order} LIMIT ${reach})`;
    });
    return `SELECT id, key FROM (${arms.join(' UNION ALL ')}) arms ORDER BY ${order}`;
  };
}

const vendorBound = (which: 'min' | 'max') =>
  `(SELECT ${which}(lower(v)) FROM unnest(CAST(:vendorFilter AS text[])) AS v)`;

const skipped = 'CAST(:skipped AS integer)';

/**
 * A page in descending order: keys from the largest, nulls last, ties by id from the smallest.
 *
 * Read backwards, an index gives ties by id in descending order, and nulls first. So a walk backwards only finds with
 * which keys the page begins and ends. The rows of the page are then: those of the first key (without those on earlier
 * pages: as many as are skipped and have no larger key) and of the last one, read forwards; those of the keys in
 * between, in any order, since all of them are on the page; and nulls, if the page goes beyond the keys. No walk keeps
 * its rows: for the last page of a million that would be more than memory allows. A second, descending index for each
 * key would cost each adjustment two more entries.
 */
function descendingSql(walk: Walk, { key, isNullable }: { key: string; isNullable: boolean }): string {
  const [first, last] = ['(SELECT first_key FROM edge)', '(SELECT last_key FROM edge)'];
  const withKeys = walk(isNullable ? `${key} IS NOT NULL` : '', 'key DESC');
  const larger = walk(`${key} > ${first}`, 'key DESC');
  const parts = [
    `${walk(`${key} = ${first}`, 'id')} LIMIT :pageSize OFFSET ${skipped} - (SELECT count(*) FROM (${larger}) larger)`,
    `${walk(`${key} < ${first} AND ${key} > ${last}`, 'key DESC')} LIMIT :pageSize`,
    `${walk(`${key} = ${last} AND (SELECT last_key < first_key FROM edge)`, 'id')} LIMIT :pageSize`,
  ];
  if (isNullable) {
    const found = '(SELECT found FROM edge)';
    // Without the limit of 0, nulls that the page does not need would be searched for.
    const size = `LIMIT CASE WHEN ${found} < :pageSize THEN CAST(:pageSize AS integer) ELSE 0 END`;
    const nullsBefore = `${skipped} - (SELECT count(*) FROM (${withKeys}) keys)`;
    parts.push(
      `${walk(`${key} IS NULL`, 'key, id')} ${size} OFFSET CASE ${found} WHEN 0 THEN ${nullsBefore} ELSE 0 END`,
    );
  }
  return `
    WITH edge AS MATERIALIZED (
      SELECT count(*) AS found, max(key) AS first_key, min(key) AS last_key
      FROM (${withKeys} LIMIT :pageSize OFFSET :skipped) walked
    )
    SELECT id, key FROM (${parts.map((part) => `(${part})`).join(' UNION ALL ')}) parts
    ORDER BY key DESC NULLS LAST, id LIMIT :pageSize`;
}

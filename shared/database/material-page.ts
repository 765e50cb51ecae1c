import type { ListFilters } from './facets.js';
import { descendingSql } from './material-walk.js';
import type { Walk } from './material-walk.js';

/**
 * The ids of a page of the list, as SQL. There are two ways to them, and which is cheaper depends on how many materials
 * match, which is known by then:
 *
 * - *walk* along the indexes of the sort key until the page is full, past everything that the page skips and, where
 *   vendors or a search are asked for, all that does not match. No table is read but for a search.
 * - *gather* everything that matches, by the index of the facets or of the search, and sort it.
 *
 * The planner could choose by itself, but only as well as its statistics are; so each way is written so that the other is
 * out of its reach: `OFFSET 0` fences a subquery, and the indexes of facets and of the search answer to conditions that a
 * walk does not use.
 */

export type SortKey = keyof typeof sortColumns;

/** Texts are sorted by their lower-case copies (migration 0003). */
const sortColumns = {
  productName: { table: 'materials', key: 'm.product_name_order', isNullable: false },
  variantName: { table: 'materials', key: 'm.variant_name_order', isNullable: true },
  sku: { table: 'materials', key: 'm.sku_order', isNullable: true },
  vendor: { table: 'materials', key: 'm.vendor_order', isNullable: true },
  unitCost: { table: 'materials', key: 'm.unit_cost', isNullable: true },
  inventoryQuantity: { table: 'stock', key: 's.total_quantity', isNullable: false },
  updatedAt: { table: 'stock', key: 's.updated_at', isNullable: false },
} as const;

/** The values of `sortBy`. */
export const sortKeys = Object.keys(sortColumns) as SortKey[];

export interface PageShape {
  sortBy: SortKey;
  sortOrder: 'asc' | 'desc';
  /** The groups of facets (migration 0003) that are asked for: 0 to 3. */
  groups: readonly number[];
  /** Whether only some facets are asked for, `:facetIds`. */
  byFacet: boolean;
  /** Whether only vendors are asked for, `:vendorFilter`; then `byFacet` is true as well. */
  byVendor: boolean;
  /** Whether only what holds `:pattern` is asked for. */
  bySearch: boolean;
}

export function shapeOf(
  query: ListFilters & { sortBy: SortKey; sortOrder: 'asc' | 'desc'; search?: string | undefined },
  groups: readonly number[],
): PageShape {
  const { sortBy, sortOrder, usageFilter, originFilter, vendorFilter, search = '' } = query;
  const byVendor = vendorFilter.length > 0;
  const byFacet = byVendor || usageFilter !== 'all' || originFilter !== 'all';
  return { sortBy, sortOrder, groups, byFacet, byVendor, bySearch: search !== '' };
}

/**
 * The shop once more, as a value that the planner does not see. Of a shop it has no statistics of yet it expects one row,
 * takes any index that is led by the shop for as good as the primary key, and then reads all of the shop's rows for one,
 * or, in a join, for each. A new shop with 50,000 materials: a page of 1,000 in 3.8 s, and in 0.04 s this way; a single
 * read in 3.9 ms, and in 0.5 ms.
 */
export const sameShop = '(SELECT CAST(:shopId AS integer))';

/** Nulls come last in both directions, and ties go by id, ascending in both. */
export const pageOrder = (sortOrder: 'asc' | 'desc') => (sortOrder === 'desc' ? 'key DESC NULLS LAST, id' : 'key, id');

/** By the index of the facets, which is on this expression. */
export const facetCondition = 'm.facet_id + 0 = ANY(CAST(:facetIds AS integer[]))';

/** By the trigram index, which is on the texts as they are. */
export const searchCondition = `(m.product_name ILIKE :pattern OR m.variant_name ILIKE :pattern
  OR m.sku ILIKE :pattern OR m.vendor ILIKE :pattern)`;

/** The same without that index, for a walk: ILIKE compares the lower-case forms. */
const walkedSearchCondition = `(m.product_name_order LIKE lower(:pattern) OR m.variant_name_order LIKE lower(:pattern)
  OR m.sku_order LIKE lower(:pattern) OR m.vendor_order LIKE lower(:pattern))`;

/** What a row costs each way, in µs as measured at a million materials; only the relations between them count. */
const costs = { walked: 0.1, walkedSearch: 2, gathered: 1, gatheredFromStock: 2.5 };

/**
 * How far to walk, in rows; 0 where gathering is cheaper. What matches may stand far from where the walk begins: a walk
 * through a search ends where gathering would have cost as much, and a page that is then not full must be gathered.
 *
 * @param counts materials that match, materials of the groups, and rows from the first to the end of the page
 */
export function walkRowsMax(
  { sortBy, sortOrder, groups, byVendor, bySearch }: PageShape,
  { matched, inGroups, toPageEnd }: { matched: number; inGroups: number; toPageEnd: number },
): number {
  // No group had anything a moment ago.
  if (groups.length === 0) return 0;
  if (!byVendor && !bySearch) return inGroups;
  // A descending page is put together from several walks, and one that ends early would leave a hole in it.
  if (bySearch && sortOrder === 'desc') return 0;
  const { table } = sortColumns[sortBy];
  const rowsToWalk = Math.min(inGroups, (toPageEnd * inGroups) / matched);
  const gathered = matched * (table === 'stock' ? costs.gatheredFromStock : costs.gathered);
  const worth = gathered / (bySearch ? costs.walkedSearch : costs.walked);
  return rowsToWalk < worth ? Math.ceil(worth) : 0;
}

/** The page's `id` and `key`, in no order, of `:pageSize` rows after `:skipped`. */
export function gatherSql({ sortBy, sortOrder, byFacet, bySearch }: PageShape): string {
  const { table, key } = sortColumns[sortBy];
  const conditions = [`m.shop_id = ${sameShop}`];
  if (byFacet) conditions.push(facetCondition);
  if (bySearch) conditions.push(searchCondition);
  // Joined, each look-up would go through a cache that is never hit: 36 instead of 25 ms for 10,000.
  const keyOfStock = `(SELECT ${key} FROM stock s WHERE s.shop_id = ${sameShop} AND s.material_id = m.id)`;
  return `
    SELECT id, key FROM (
      SELECT m.id, ${table === 'stock' ? keyOfStock : key} AS key FROM materials m
      WHERE ${conditions.join(' AND ')} OFFSET 0
    ) gathered
    ORDER BY ${pageOrder(sortOrder)} LIMIT :pageSize OFFSET :skipped`;
}

/** As `gatherSql`; with a search, which only an ascending walk takes, fewer rows where `:walkRowsMax` do not lead to all. */
export function walkSql(shape: PageShape): string {
  const { key, isNullable } = sortColumns[shape.sortBy];
  const walk = walker(shape);
  if (shape.sortOrder === 'asc') return `${walk('', 'key, id')} LIMIT :pageSize OFFSET :skipped`;
  return descendingSql(walk, { key, isNullable });
}

function walker(shape: PageShape): Walk {
  const { sortBy, groups, byVendor, bySearch } = shape;
  const { table, key } = sortColumns[sortBy];
  const [alias, id] = table === 'stock' ? ['s', 's.material_id'] : ['m', 'm.id'];
  const filters: string[] = [];
  if (byVendor) filters.push(`${alias}.facet_id = ANY(CAST(:facetIds AS integer[]))`);
  // All of a vendor's materials stand together in this order: without its bounds the walk would look for them.
  if (byVendor && sortBy === 'vendor') filters.push(`${key} BETWEEN ${vendorBound('min')} AND ${vendorBound('max')}`);
  return (condition, order) => {
    const arms = groups.map((group) => {
      const conditions = [`${alias}.shop_id = ${sameShop}`, `(${alias}.facet_id & 3) = ${group}`, ...filters];
      if (condition !== '') conditions.push(condition);
      return `(SELECT ${id} AS id, ${key} AS key FROM ${table} ${alias} WHERE ${conditions.join(' AND ')}
               ORDER BY ${order} LIMIT ${bySearch ? ':walkRowsMax' : toPageEnd})`;
    });
    const merged = `SELECT id, key FROM (${arms.join(' UNION ALL ')}) arms ORDER BY ${order}`;
    if (!bySearch) return merged;
    return `
      SELECT w.id, w.key FROM (${merged} LIMIT :walkRowsMax) w
      CROSS JOIN LATERAL (
        SELECT 1 FROM materials m WHERE m.shop_id = ${sameShop} AND m.id = w.id AND ${walkedSearchCondition} OFFSET 0
      ) found
      ORDER BY ${order}`;
  };
}

/** No arm gives more to a page than all rows up to its end. */
const toPageEnd = 'CAST(:skipped AS integer) + CAST(:pageSize AS integer)';

const vendorBound = (which: 'min' | 'max') =>
  `(SELECT ${which}(lower(v)) FROM unnest(CAST(:vendorFilter AS text[])) AS v)`;

import type { Database } from './connect.js';
import { runReadCommitted } from './read-committed.js';
import { readRows } from './read-rows.js';
import { commitsAsync } from './async-commit.js';

// A facet is a combination of all that a list filters by: a vendor, an origin, and whether a bill uses the material.
// Each has a number, which is in the rows of its materials and in the indexes of the list. The last two bits of the
// number are its group: origin and use alone. Each facet also has a counter, so that a list knows how many materials
// match before it looks at any (migration 0003).

/** The filters of the list (contract §2 "List") that facets stand for. */
export interface ListFilters {
  usageFilter: 'all' | 'used' | 'unused';
  originFilter: 'all' | 'platform' | 'virtual';
  /** Exact names, any of them; empty is no filter. */
  vendorFilter: readonly string[];
}

/** What the counters (`facet_counts`) say about a list. */
export interface MatchedFacets {
  /** The facets that meet all filters and have materials. */
  ids: number[];
  /** How many materials meet all filters. */
  matchedCount: number;
  /** How many materials meet the filters of origin and use. */
  groupCount: number;
  /** How many materials the shop has, whatever the filters. */
  shopCount: number;
  /**
   * Every distinct vendor of the shop whatever the filters, sorted without regard to case (contract §2
   * `availableVendors`), or as many of them, from the first on, as `vendorBytesMax` has room for.
   */
  vendors: string[];
  /**
   * The shop's part of all materials in the table, 0 to about 1, whatever the filters; 0 until the table is analysed.
   */
  tablePart: number;
}

/**
 * The groups that meet the filters of origin and use, whether or not they have materials: a material may come to one
 * between two statements, when the first bill begins to use it.
 */
export function groupsOf({ usageFilter, originFilter }: Omit<ListFilters, 'vendorFilter'>): number[] {
  const origins = originFilter === 'all' ? [0, 2] : [originFilter === 'platform' ? 2 : 0];
  const uses = usageFilter === 'all' ? [0, 1] : [usageFilter === 'used' ? 1 : 0];
  return origins.flatMap((origin) => uses.map((use) => origin + use));
}

/** @param vendorBytesMax how many bytes the vendors may take as JSON; absent is any number */
export async function readFacets(
  database: Database,
  shopId: number,
  { vendorBytesMax, ...filters }: ListFilters & { vendorBytesMax?: number },
): Promise<MatchedFacets> {
  const { originFilter, vendorFilter } = filters;
  const bindings = { shopId, originFilter, vendorFilter, vendorBytesMax: vendorBytesMax ?? null };
  const [row] = await readRows<FacetsRow>(database, facetsSql(filters), bindings);
  if (row === undefined) throw new Error('an aggregate returned no row');
  const { ids, matched_count, group_count, shop_count, vendors, table_part } = row;
  return {
    ids,
    matchedCount: Number(matched_count),
    groupCount: Number(group_count),
    shopCount: Number(shop_count),
    vendors,
    tablePart: table_part,
  };
}

interface FacetsRow {
  ids: number[];
  matched_count: string;
  group_count: string;
  shop_count: string;
  vendors: string[];
  table_part: number;
}

/**
 * Facets without materials are left out; they stay in the table until `pruneFacets` deletes them. Lists are read as
 * JSON, because the driver reads an array of Postgres character by character (20,000 vendors: 21 ms of the API's CPU,
 * and 15 as JSON).
 *
 * A client may make a vendor of 255 characters for each material. With 20,000 of these an answer for one material had
 * 31 MB, and the process 609 MiB.
 */
function facetsSql({ usageFilter, originFilter, vendorFilter }: ListFilters): string {
  const ofGroup = [
    ...(usageFilter === 'all' ? [] : [usageFilter === 'used' ? 'f.is_used' : 'NOT f.is_used']),
    ...(originFilter === 'all' ? [] : ['f.origin = :originFilter']),
  ];
  const all = vendorFilter.length === 0 ? ofGroup : [...ofGroup, 'f.vendor = ANY(CAST(:vendorFilter AS text[]))'];
  const condition = (parts: readonly string[]) => (parts.length === 0 ? 'true' : parts.join(' AND '));
  return `
    WITH counted AS MATERIALIZED (
      SELECT f.id, f.vendor, c.materials, ${condition(ofGroup)} AS is_in_group,
             coalesce(${condition(all)}, false) AS matches
      FROM facets f
      CROSS JOIN LATERAL (SELECT sum(c.materials) AS materials FROM facet_counts c WHERE c.facet_id = f.id) c
      WHERE f.shop_id = :shopId AND c.materials > 0
    )
    SELECT coalesce(json_agg(id) FILTER (WHERE matches), '[]') AS ids,
           coalesce(sum(materials) FILTER (WHERE matches), 0) AS matched_count,
           coalesce(sum(materials) FILTER (WHERE is_in_group), 0) AS group_count,
           coalesce(sum(materials), 0) AS shop_count,
           (SELECT coalesce(json_agg(v.vendor ORDER BY v.bytes), '[]')
            FROM (SELECT named.vendor, sum(octet_length(CAST(to_json(named.vendor) AS text)) + 1) OVER (
                    ORDER BY lower(named.vendor), named.vendor ROWS UNBOUNDED PRECEDING) AS bytes
                  FROM (SELECT DISTINCT vendor FROM counted WHERE vendor IS NOT NULL) named) v
            WHERE CAST(:vendorBytesMax AS bigint) IS NULL OR v.bytes <= CAST(:vendorBytesMax AS bigint)) AS vendors,
           coalesce(CAST(sum(materials) AS float8) / (
             SELECT reltuples FROM pg_class WHERE oid = CAST('materials' AS regclass) AND reltuples > 0), 0) AS table_part
    FROM counted`;
}

/**
 * Looks at a batch of facets of all shops: marks those without materials, and deletes those that were marked `restMs`
 * ago and that nobody has used since (migration 0008). It can run beside full load, and beside another process that
 * does the same, because it skips whatever another session holds.
 *
 * @param restMs by Postgres' clock; longer than an import keeps a facet before it uses it
 * @param after the last id of the batch before this one
 * @returns the last id looked at, where the batch was full and there may be more
 */
export async function pruneFacets(
  database: Database,
  { restMs, batchSize, after = 0 }: { restMs: number; batchSize: number; after?: number | undefined },
): Promise<number | undefined> {
  const rows = await runReadCommitted<{ last_id: number | null; looked: number }>(
    database,
    `SELECT last_id, looked
     FROM prune_facets(:after, :batchSize, statement_timestamp() - CAST(:restMs AS bigint) * interval '1 millisecond')
     WHERE ${commitsAsync}`,
    { after, batchSize, restMs },
  );
  const [{ last_id: last, looked } = { last_id: null, looked: 0 }] = rows;
  return looked === batchSize && last !== null ? last : undefined;
}

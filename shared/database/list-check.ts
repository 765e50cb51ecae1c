import { addMismatches, batchesOf, isAfter, materialsPerBatch } from './check-batches.js';
import type { Database } from './connect.js';
import type { Mismatch } from './ledger-mismatch.js';
import { readWithoutTimeout } from './lift-timeouts.js';

/**
 * A difference between the materials and what lists go by: stock, facets and their counters (migration 0003), which
 * have no place of their own. For a facet `expected` and `found` are vendor (as JSON), origin and use; for a counter,
 * which is of no single material, how many materials, and of which facet; for stock, whether there is any.
 */
export type ListMismatch = Mismatch<ListMismatchKind>;

export const listMismatchMeanings = {
  'stock-missing': 'the material has no stock, so requests and lists take it for one that does not exist',
  'wrong-facet': 'the list takes the material for one of another vendor, origin or use',
  'wrong-count': 'the list counts materials that are not there, or not all that are',
} as const;

export type ListMismatchKind = keyof typeof listMismatchMeanings;

export interface ListCheck {
  mismatchCount: number;
  /** The first thousand of them. */
  mismatches: ListMismatch[];
}

/**
 * Compares each material's facet, and each facet's counter, with the materials: of one shop, or, without `shopId`, of
 * all. Triggers keep them right, so they differ only if rows were written without triggers. Each statement is one
 * snapshot: the check is right beside live traffic, and locks nothing.
 *
 * @param options.onProgress told after each batch how many materials were compared so far
 */
export async function checkLists(
  database: Database,
  { shopId, onProgress }: { shopId?: number; onProgress?: (materials: number) => void } = {},
): Promise<ListCheck> {
  const check: ListCheck = { mismatchCount: 0, mismatches: [] };
  let materials = 0;
  const note = (found: ListMismatch[], compared = 0) => {
    materials += compared;
    onProgress?.(materials);
    addMismatches(check, found);
  };
  await checkFacets(database, shopId, note);
  note(await wrongCounts(database, shopId));
  return check;
}

type Note = (found: ListMismatch[], compared: number) => void;

async function checkFacets(database: Database, only: number | undefined, note: Note): Promise<void> {
  const keyOf = (row: FacetRow) => ({ materialId: row.id });
  const walk = { keyOf, first: { materialId: '' }, limit: materialsPerBatch };
  for await (const rows of batchesOf(database, only, facetBatch(only), walk)) {
    note(rows.flatMap(materialMismatches), rows.length);
  }
}

interface FacetRow {
  shop_id: number;
  id: string;
  has_stock: boolean;
  is_right: boolean;
  expected: string;
  found: string;
}

function materialMismatches({ shop_id: shopId, id, has_stock, is_right, expected, found }: FacetRow): ListMismatch[] {
  if (!has_stock) return [mismatch('stock-missing', { shopId, materialId: id, expected: 'stock', found: 'none' })];
  return is_right ? [] : [mismatch('wrong-facet', { shopId, materialId: id, expected, found })];
}

const named = (vendor: string, origin: string, isUsed: string) =>
  `concat_ws(', ', coalesce(CAST(to_json(${vendor}) AS text), 'no vendor'), ${origin},
     CASE WHEN ${isUsed} THEN 'used' ELSE 'unused' END)`;

/**
 * A material's facet is in both tables, because each has its own indexes for the list. The other table is looked up and
 * not joined, for the same reason as in `totalBatch`. A facet is looked up by its id alone: with the shop, where most
 * shops have one, Postgres read all facets of a shop with a thousand for each of its materials. Its use is looked up
 * too, and once: without OFFSET 0, Postgres read the components of all bills twice for each batch.
 */
const facetBatch = (only: number | undefined) => `
  SELECT m.shop_id, m.id, s.material_id IS NOT NULL AS has_stock,
         ${named('m.vendor', 'm.origin', 'u.is_used')} AS expected,
         CASE WHEN f.id IS NULL THEN 'none' WHEN s.facet_id IS DISTINCT FROM m.facet_id THEN 'another in stock'
              ELSE ${named('f.vendor', 'f.origin', 'f.is_used')} END AS found,
         (f.vendor, f.origin, f.is_used, s.facet_id)
           IS NOT DISTINCT FROM (m.vendor, m.origin, u.is_used, m.facet_id) AS is_right
  FROM materials m
  LEFT JOIN LATERAL (
    SELECT material_id, facet_id FROM stock WHERE stock.shop_id = m.shop_id AND stock.material_id = m.id OFFSET 0
  ) s ON true
  LEFT JOIN LATERAL (SELECT * FROM facets WHERE facets.id = m.facet_id OFFSET 0) f ON f.shop_id = m.shop_id
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT 1 FROM bill_components c WHERE c.shop_id = m.shop_id AND c.material_id = m.id) AS is_used
    OFFSET 0
  ) u
  WHERE ${isAfter(only, 'm.shop_id', 'm.id', ':materialId')} ORDER BY m.shop_id, m.id LIMIT :limit`;

/**
 * Both counts in one grouping, made once: where the statistics did not know of a shop, two in a join were made anew for
 * each facet.
 */
async function wrongCounts(database: Database, only: number | undefined): Promise<ListMismatch[]> {
  const ofShop = (alias: string) => (only === undefined ? 'true' : `${alias}.shop_id = :shopId`);
  const rows = await readWithoutTimeout<{ shop_id: number; name: string; counted: string; there: string }>(
    database,
    `WITH counts AS (
       SELECT f.shop_id, c.facet_id, c.materials AS counted, 0 AS there
       FROM facet_counts c JOIN facets f ON f.id = c.facet_id WHERE ${ofShop('f')}
       UNION ALL
       SELECT m.shop_id, m.facet_id, 0, 1 FROM materials m WHERE ${ofShop('m')}
     ),
     summed AS MATERIALIZED (
       SELECT shop_id, facet_id, sum(counted) AS counted, sum(there) AS there FROM counts GROUP BY shop_id, facet_id
     )
     SELECT f.shop_id, ${named('f.vendor', 'f.origin', 'f.is_used')} AS name, s.counted, s.there
     FROM summed s JOIN facets f ON f.shop_id = s.shop_id AND f.id = s.facet_id
     WHERE s.counted <> s.there
     ORDER BY f.shop_id, f.id`,
    { shopId: only ?? null },
  );
  return rows.map(({ shop_id: shopId, name, counted, there }) =>
    mismatch('wrong-count', { shopId, materialId: null, expected: `${there} (${name})`, found: counted }),
  );
}

function mismatch(
  kind: ListMismatchKind,
  found: Pick<ListMismatch, 'shopId' | 'materialId' | 'expected' | 'found'>,
): ListMismatch {
  return { kind, locationId: null, levelId: null, ...found };
}

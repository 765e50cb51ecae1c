import { addMismatches, batchesOf, isAfter, materialsPerBatch } from './check-batches.js';
import type { Database } from './connect.js';
import { levelMismatches, totalMismatch } from './ledger-mismatch.js';
import type { ComparedLevel, LedgerMismatch, WrongTotal } from './ledger-mismatch.js';
import { readWithoutTimeout } from './lift-timeouts.js';

export interface LedgerCheckProgress {
  levels: number;
  entries: number;
  materials: number;
  mismatchCount: number;
}

export interface LedgerCheck extends LedgerCheckProgress {
  /** The first thousand of them. */
  mismatches: LedgerMismatch[];
}

const levelsPerBatch = 500;

/**
 * Recomputes everything that follows from the ledger: of one shop, or, without `shopId`, of all. Each batch is one
 * statement and so one snapshot: the check is right beside live traffic, and locks nothing. No statement reads more
 * than the entries of 500 levels.
 *
 * A batch of all shops goes on from one shop into the next. By the shop, 20,000 small ones took 120,000 statements.
 *
 * @param options.onProgress told after each batch what was checked so far, and which part of everything that is, 0 to 1
 * @throws only if the database fails; differences are part of the result
 */
export async function checkLedger(
  database: Database,
  options: { shopId?: number; onProgress?: (progress: LedgerCheckProgress, part: number) => void } = {},
): Promise<LedgerCheck> {
  const total = options.onProgress === undefined ? 0 : await countRows(database, options.shopId);
  const result: LedgerCheck = { levels: 0, entries: 0, materials: 0, mismatchCount: 0, mismatches: [] };
  const note = (found: Partial<LedgerCheckProgress>, mismatches: LedgerMismatch[]) => {
    result.levels += found.levels ?? 0;
    result.entries += found.entries ?? 0;
    result.materials += found.materials ?? 0;
    addMismatches(result, mismatches);
    const { levels, entries, materials, mismatchCount } = result;
    // What was written since the count is checked as well, so there may be more than was counted.
    options.onProgress?.({ levels, entries, materials, mismatchCount }, Math.min(1, (levels + materials) / total));
  };
  await checkLevels(database, options.shopId, note);
  await checkTotals(database, options.shopId, note);
  await checkOrphans(database, options.shopId, note);
  return result;
}

type Note = (found: Partial<LedgerCheckProgress>, mismatches: LedgerMismatch[]) => void;

/** Counts levels and totals, as a measure of all the work; never 0. */
async function countRows(database: Database, shopId: number | undefined): Promise<number> {
  const ofShop = shopId === undefined ? '' : 'WHERE shop_id = :shopId';
  const [row] = await readWithoutTimeout<{ total: string }>(
    database,
    `SELECT (SELECT count(*) FROM levels ${ofShop}) + (SELECT count(*) FROM stock ${ofShop}) AS total`,
    { shopId: shopId ?? null },
  );
  return Math.max(1, Number(row?.total));
}

async function checkLevels(database: Database, only: number | undefined, note: Note): Promise<void> {
  const keyOf = (row: ComparedLevel) => ({ materialId: row.material_id, locationId: row.location_id });
  const walk = { keyOf, first: { materialId: '', locationId: '' }, limit: levelsPerBatch };
  for await (const rows of batchesOf(database, only, levelBatch(only), walk)) {
    const entries = rows.reduce((sum, row) => sum + Number(row.entries), 0);
    note({ levels: rows.length, entries }, rows.flatMap(levelMismatches));
  }
}

/** The comparison of columns as a row uses the primary key, so a batch starts where the last one ended. */
const levelBatch = (only: number | undefined) => `
  SELECT l.shop_id, l.material_id, l.location_id, l.id, l.quantity, l.sequence, e.entries, e.by_ledger, e.last_sequence,
         e.breaks, l.quantity = e.by_ledger AS is_sum,
         e.first_sequence = 1 AND e.last_sequence = e.entries AS is_gap_free, l.sequence = e.last_sequence AS is_last
  FROM levels l CROSS JOIN LATERAL (
    SELECT count(*) AS entries, coalesce(sum(g.applied), 0)::numeric(38, 6) AS by_ledger,
           coalesce(min(g.sequence), 1) AS first_sequence, coalesce(max(g.sequence), 0) AS last_sequence,
           count(*) FILTER (WHERE g.previous <> g.before OR g.previous + g.applied <> g.level_after) AS breaks
    FROM (
      SELECT applied, sequence, previous, level_after,
             coalesce(lag(level_after) OVER (ORDER BY sequence), 0) AS before
      FROM ledger WHERE shop_id = l.shop_id AND level_id = l.id
    ) g
  ) e
  WHERE ${isAfter(only, 'l.shop_id', 'l.material_id, l.location_id', ':materialId, :locationId')}
  ORDER BY l.shop_id, l.material_id, l.location_id LIMIT :limit`;

async function checkTotals(database: Database, only: number | undefined, note: Note): Promise<void> {
  const keyOf = (row: TotalRow) => ({ materialId: row.material_id });
  const walk = { keyOf, first: { materialId: '' }, limit: materialsPerBatch };
  for await (const rows of batchesOf(database, only, totalBatch(only), walk)) {
    note({ materials: rows.length }, rows.flatMap(totalMismatches));
  }
}

/**
 * Only a virtual material's total is the sum of its levels; a platform material's is mirrored. Each material is looked
 * up by itself, because of OFFSET 0. In a join, Postgres read the other table from the shop's first row for each batch:
 * 2.3 million rows for 150,000 materials, and a hundred million for a million.
 *
 * Where the material is gone, nobody knows whether its total was a sum.
 */
const totalBatch = (only: number | undefined) => `
  SELECT s.shop_id, s.material_id, s.total_quantity, t.total, m.origin IS NULL AS is_orphan,
         m.origin = 'platform' OR s.total_quantity = t.total AS is_sum
  FROM stock s
  LEFT JOIN LATERAL (
    SELECT origin FROM materials m WHERE m.shop_id = s.shop_id AND m.id = s.material_id OFFSET 0
  ) m ON true
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(l.quantity), 0)::numeric(38, 6) AS total FROM levels l
    WHERE l.shop_id = s.shop_id AND l.material_id = s.material_id
  ) t
  WHERE ${isAfter(only, 's.shop_id', 's.material_id', ':materialId')}
  ORDER BY s.shop_id, s.material_id LIMIT :limit`;

interface TotalRow extends WrongTotal {
  is_orphan: boolean;
  is_sum: boolean;
}

function totalMismatches(row: TotalRow): LedgerMismatch[] {
  if (!row.is_orphan) return row.is_sum ? [] : [totalMismatch(row)];
  const place = { materialId: row.material_id, locationId: null, levelId: null };
  return [{ kind: 'material-missing', shopId: row.shop_id, ...place, expected: 'a material', found: 'none' }];
}

/** Looks for entries whose level does not exist: the ledger has no foreign key to levels (migration 0001). */
async function checkOrphans(database: Database, only: number | undefined, note: Note): Promise<void> {
  const keyOf = (row: LedgerLevel) => ({ levelId: row.level_id });
  const walk = { keyOf, first: { levelId: '0' }, limit: levelsPerBatch };
  for await (const rows of batchesOf(database, only, ledgerLevelBatch(only), walk)) {
    note({}, rows.flatMap(orphanMismatches));
  }
}

interface LedgerLevel {
  shop_id: number;
  level_id: string;
  exists: boolean;
}

function orphanMismatches({ shop_id: shopId, level_id: levelId, exists }: LedgerLevel): LedgerMismatch[] {
  if (exists) return [];
  const place = { materialId: null, locationId: null, levelId };
  return [{ kind: 'level-missing', shopId, ...place, expected: 'a level', found: 'none' }];
}

/**
 * The levels of the ledger. It walks from one to the next by the primary key, with one look-up a level, however many
 * entries each has.
 */
function ledgerLevelBatch(only: number | undefined): string {
  const next = (after: string) =>
    `SELECT g.shop_id, g.level_id FROM ledger g WHERE ${after} ORDER BY g.shop_id, g.level_id LIMIT 1`;
  const afterLast =
    only === undefined
      ? '(g.shop_id, g.level_id) > (walk.shop_id, walk.level_id)'
      : 'g.shop_id = walk.shop_id AND g.level_id > walk.level_id';
  return `
    WITH RECURSIVE walk AS (
      (${next(isAfter(only, 'g.shop_id', 'g.level_id', ':levelId'))})
      UNION ALL
      SELECT next.* FROM walk CROSS JOIN LATERAL (${next(afterLast)}) next
    )
    SELECT w.*, EXISTS (SELECT 1 FROM levels l WHERE l.id = w.level_id AND l.shop_id = w.shop_id)
    FROM (SELECT * FROM walk LIMIT :limit) w ORDER BY w.shop_id, w.level_id`;
}

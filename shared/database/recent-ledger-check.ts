import type { MaterialRef } from '../domain/operation.js';
import type { Database } from './connect.js';
import { levelMismatches, totalMismatch } from './ledger-mismatch.js';
import type { ComparedLevel, LedgerMismatch, WrongTotal } from './ledger-mismatch.js';
import { readRows } from './read-rows.js';

export interface RecentLedgerCheck {
  materials: number;
  levels: number;
  entries: number;
  /**
   * How many rows were read for it. All levels of these materials are read, even ten thousand: to find those that
   * changed last, and for the sum.
   */
  rowsRead: number;
  mismatches: LedgerMismatch[];
}

export interface RecentLedgerBounds {
  /** Of all these materials together; those that changed last are looked at. */
  levelsMax: number;
  /** Of each level, its last ones. */
  entriesPerLevelMax: number;
}

/**
 * Checks the ends of some materials' ledgers: that the last entries of each level are numbered without a gap, that each
 * starts from what the one before it left, that the last one left what the level says, and that the total is the sum of
 * the levels. An unbroken chain from 0 is a sum, so over time this finds what `checkLedger` finds, at a cost that does
 * not grow with the ledger: it reads at most `levelsMax * entriesPerLevelMax` entries, by the ledger's primary key.
 * Where the end is, a level's sequence says; entries that should be there and are not count as missing.
 *
 * One statement reads the levels and one the totals. Each is a snapshot of its own: the check is right beside live
 * traffic, and locks nothing.
 *
 * @throws only if the database fails; differences are part of the result
 */
export async function checkRecentLedger(
  database: Database,
  materials: MaterialRef[],
  { levelsMax, entriesPerLevelMax }: RecentLedgerBounds,
): Promise<RecentLedgerCheck> {
  const shopIds = materials.map(({ shopId }) => shopId);
  const materialIds = materials.map(({ materialId }) => materialId);
  const asked = { shopIds, materialIds, levelsMax, entriesPerLevelMax };
  // How many materials there are decides how their levels are best found.
  const levels = await readRows<RecentLevel>(database, recentLevels, asked, { planEachTime: true });
  const totals = await readRows<RecentTotal>(database, recentTotals, asked, { planEachTime: true });
  const entries = levels.reduce((sum, { entries }) => sum + Number(entries), 0);
  const summed = totals.reduce((sum, { levels_summed }) => sum + Number(levels_summed), 0);
  return {
    materials: materials.length,
    levels: levels.length,
    entries,
    rowsRead: Number(levels[0]?.levels_seen ?? 0) + entries + materials.length + summed,
    mismatches: [...levels.flatMap(levelMismatches), ...totals.filter(({ is_sum }) => !is_sum).map(totalMismatch)],
  };
}

interface RecentLevel extends ComparedLevel {
  levels_seen: string;
}

interface RecentTotal extends WrongTotal {
  is_sum: boolean;
  levels_summed: string;
}

/**
 * The entry before the first one that is read is unknown. So the start of the first one is checked only if it is the
 * first of its level.
 *
 * The condition on the sequence is there although order and limit say the same: without it, and on a table without
 * statistics, all entries of a level were read and sorted, each second (a hot material's 200,000: nearly half of all
 * that Postgres did for its adjustments).
 */
const recentLevels = `
  SELECT l.shop_id, l.material_id, l.location_id, l.id, l.quantity, l.sequence, l.levels_seen, e.entries,
         coalesce(e.last_level, 0)::numeric(38, 6) AS by_ledger, coalesce(e.last_sequence, 0) AS last_sequence,
         e.breaks, coalesce(l.quantity = e.last_level, false) AS is_sum,
         coalesce(e.last_sequence - e.first_sequence + 1 = e.entries
                  AND (e.first_sequence = 1 OR e.first_sequence <= l.sequence - :entriesPerLevelMax + 1
                       OR e.entries = :entriesPerLevelMax), true) AS is_gap_free,
         coalesce(l.sequence = e.last_sequence, false) AS is_last
  FROM (
    SELECT levels.*, count(*) OVER () AS levels_seen FROM levels
    JOIN unnest(:shopIds::int[], :materialIds::text[]) AS asked (shop_id, material_id) USING (shop_id, material_id)
    ORDER BY levels.updated_at DESC LIMIT :levelsMax
  ) l CROSS JOIN LATERAL (
    SELECT count(*) AS entries, min(g.sequence) AS first_sequence, max(g.sequence) AS last_sequence,
           max(g.level_after) FILTER (WHERE g.is_end) AS last_level,
           count(*) FILTER (WHERE g.previous <> g.before OR g.previous + g.applied <> g.level_after) AS breaks
    FROM (
      SELECT applied, sequence, previous, level_after, lead(sequence) OVER own IS NULL AS is_end,
             coalesce(lag(level_after) OVER own, CASE sequence WHEN 1 THEN 0 END) AS before
      FROM (
        SELECT applied, sequence, previous, level_after FROM ledger
        WHERE shop_id = l.shop_id AND level_id = l.id AND sequence > l.sequence - :entriesPerLevelMax
        ORDER BY sequence DESC LIMIT :entriesPerLevelMax
      ) recent
      WINDOW own AS (ORDER BY sequence)
    ) g
  ) e`;

/** Only virtual materials have a total that is a sum; a platform material's is mirrored. */
const recentTotals = `
  SELECT s.shop_id, s.material_id, s.total_quantity, t.total, t.levels_summed,
         m.origin = 'platform' OR s.total_quantity = t.total AS is_sum
  FROM unnest(:shopIds::int[], :materialIds::text[]) AS asked (shop_id, material_id)
  JOIN stock s USING (shop_id, material_id)
  JOIN materials m ON m.shop_id = s.shop_id AND m.id = s.material_id
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(l.quantity), 0)::numeric(38, 6) AS total, count(*) AS levels_summed FROM levels l
    WHERE l.shop_id = s.shop_id AND l.material_id = s.material_id
  ) t`;

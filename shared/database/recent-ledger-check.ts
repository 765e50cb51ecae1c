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
  mismatches: RecentMismatch[];
}

export interface RecentMismatch extends LedgerMismatch {
  /** Which number the level carried when it was found; null for a total. */
  atSequence: string | null;
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
  const asked = { ...namesOf(materials), levelsMax, entriesPerLevelMax };
  // How many materials there are decides how their levels are best found.
  const levels = await readRows<RecentLevel>(database, recentLevels, asked, { planEachTime: true });
  const totals = await readRows<RecentTotal>(database, recentTotals, asked, { planEachTime: true });
  const { rowsRead, ...found } = sumUp(levels, totals);
  const levelsSeen = Number(levels[0]?.levels_seen ?? 0);
  return { ...found, materials: materials.length, rowsRead: rowsRead + levelsSeen + materials.length };
}

/**
 * Looks again where differences were found: at these totals, and of these levels at the end and at the entries around
 * the one that was their last then. A busy level may have got thousands since, and a quiet one is none of those that
 * changed last, so `checkRecentLedger` might pass over them. It reads at most `2 * entriesPerLevelMax` entries a level.
 *
 * @returns those that still differ there, whether they were asked for or not
 * @throws only if the database fails
 */
export async function recheckLedger(
  database: Database,
  mismatches: RecentMismatch[],
  { entriesPerLevelMax }: Pick<RecentLedgerBounds, 'entriesPerLevelMax'>,
): Promise<RecentLedgerCheck> {
  const ofLevels = mismatches.filter(({ levelId }) => levelId !== null);
  const askedLevels = {
    shopIds: ofLevels.map(({ shopId }) => shopId),
    levelIds: ofLevels.map(({ levelId }) => levelId ?? ''),
    sequences: ofLevels.map(({ atSequence }) => atSequence ?? '0'),
    entriesPerLevelMax,
  };
  const askedTotals = namesOf(
    mismatches.flatMap(({ shopId, materialId, levelId }) =>
      levelId === null && materialId !== null ? [{ shopId, materialId }] : [],
    ),
  );
  const levels = await readRows<RecentLevel>(database, foundLevels, askedLevels, { planEachTime: true });
  const totals = await readRows<RecentTotal>(database, recentTotals, askedTotals, { planEachTime: true });
  const { rowsRead, ...found } = sumUp(levels, totals);
  return { ...found, materials: totals.length, rowsRead: rowsRead + levels.length + totals.length };
}

function namesOf(materials: MaterialRef[]) {
  return {
    shopIds: materials.map(({ shopId }) => shopId),
    materialIds: materials.map(({ materialId }) => materialId),
  };
}

function sumUp(levels: RecentLevel[], totals: RecentTotal[]): Omit<RecentLedgerCheck, 'materials'> {
  const entries = levels.reduce((sum, { entries }) => sum + Number(entries), 0);
  const summed = totals.reduce((sum, { levels_summed }) => sum + Number(levels_summed), 0);
  const ofLevels = levels.flatMap((level) =>
    levelMismatches(level).map((mismatch) => ({ ...mismatch, atSequence: level.at_sequence })),
  );
  const ofTotals = totals.filter(({ is_sum }) => !is_sum).map((row) => ({ ...totalMismatch(row), atSequence: null }));
  return { levels: levels.length, entries, rowsRead: entries + summed, mismatches: [...ofLevels, ...ofTotals] };
}

interface RecentLevel extends ComparedLevel {
  /** The same in each row. */
  levels_seen: string;
  at_sequence: string;
}

interface RecentTotal extends WrongTotal {
  is_sum: boolean;
  levels_summed: string;
}

/**
 * Compares levels with the entries between `after` and `until` of each; it is judged by their end only if they reach
 * it, which `sees_end` says. The entry before the first one that is read is unknown. So the start of the first one is
 * checked only if it is the first of its level.
 *
 * The bounds of the sequence are there although order and limit say the same: without them, and on a table without
 * statistics, all entries of a level were read and sorted, each second (a hot material's 200,000: nearly half of all
 * that Postgres did for its adjustments).
 */
const comparedLevels = (levels: string, entriesMax: string) => `
  SELECT l.shop_id, l.material_id, l.location_id, l.id, l.quantity, l.sequence, l.levels_seen, l.at_sequence, e.entries,
         coalesce(e.last_level, 0)::numeric(38, 6) AS by_ledger, coalesce(e.last_sequence, 0) AS last_sequence,
         e.breaks, NOT l.sees_end OR coalesce(l.quantity = e.last_level, false) AS is_sum,
         coalesce(e.last_sequence - e.first_sequence + 1 = e.entries
                  AND (e.first_sequence = 1 OR e.first_sequence <= l.after + 1 OR e.entries = ${entriesMax})
                  AND (l.sees_end OR e.last_sequence = l.until), l.sees_end) AS is_gap_free,
         NOT l.sees_end OR coalesce(l.sequence = e.last_sequence, false) AS is_last
  FROM (${levels}) l CROSS JOIN LATERAL (
    SELECT count(*) AS entries, min(g.sequence) AS first_sequence, max(g.sequence) AS last_sequence,
           max(g.level_after) FILTER (WHERE g.is_end) AS last_level,
           count(*) FILTER (WHERE g.previous <> g.before OR g.previous + g.applied <> g.level_after) AS breaks
    FROM (
      SELECT applied, sequence, previous, level_after, lead(sequence) OVER own IS NULL AS is_end,
             coalesce(lag(level_after) OVER own, CASE sequence WHEN 1 THEN 0 END) AS before
      FROM (
        SELECT applied, sequence, previous, level_after FROM ledger
        WHERE shop_id = l.shop_id AND level_id = l.id AND sequence > l.after AND sequence <= l.until
        ORDER BY sequence DESC LIMIT ${entriesMax}
      ) recent
      WINDOW own AS (ORDER BY sequence)
    ) g
  ) e`;

/** No entry has a higher number. */
const endless = '9223372036854775807';

const recentLevels = comparedLevels(
  `SELECT levels.*, count(*) OVER () AS levels_seen, levels.sequence AS at_sequence,
          levels.sequence - :entriesPerLevelMax AS after, ${endless} AS until, true AS sees_end
   FROM levels
   JOIN unnest(:shopIds::int[], :materialIds::text[]) AS asked (shop_id, material_id) USING (shop_id, material_id)
   ORDER BY levels.updated_at DESC LIMIT :levelsMax`,
  ':entriesPerLevelMax',
);

/**
 * Of a level whose number was wrong, and is lower since it was mended, the end. What was found there may show as a
 * break after it since, because the next change started from the wrong level.
 */
const foundLevels = comparedLevels(
  `SELECT levels.*, 0 AS levels_seen, asked.at_sequence,
          least(asked.at_sequence, sequence) - :entriesPerLevelMax AS after,
          CASE WHEN sequence <= asked.at_sequence + :entriesPerLevelMax THEN ${endless}
               ELSE asked.at_sequence + :entriesPerLevelMax END AS until,
          sequence <= asked.at_sequence + :entriesPerLevelMax AS sees_end
   FROM levels
   JOIN unnest(:shopIds::int[], :levelIds::bigint[], :sequences::bigint[]) AS asked (shop_id, id, at_sequence)
     USING (shop_id, id)`,
  '2 * :entriesPerLevelMax',
);

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

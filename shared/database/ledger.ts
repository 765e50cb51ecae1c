import type { Channel, MaterialRef } from '../domain/operation.js';
import { newestFirst } from '../domain/newest-first.js';
import type { LedgerPlace } from '../domain/newest-first.js';
import { fromDecimal } from '../domain/quantity.js';
import type { Micros } from '../domain/quantity.js';
import type { Database } from './connect.js';
import { readRows } from './read-rows.js';

/** One change of one level, as it was booked; quantities in millionths. */
export interface LedgerEntry extends LedgerPlace {
  locationId: string;
  requested: { delta: Micros } | { absolute: Micros };
  previous: Micros;
  applied: Micros;
  level: Micros;
  clamped: boolean;
  channel: Channel;
  keyId: string | null;
  requestId: string | null;
  reason: string | null;
  reference: string | null;
}

/** Which entries of a material are wanted; undefined filters nothing. Times are inclusive, in epoch milliseconds. */
export interface LedgerFilter {
  locationId: string | undefined;
  requestId: string | undefined;
  fromMs: number | undefined;
  toMs: number | undefined;
}

/** Where a page begins: at the entries of this time, after the first `skipped` of them. */
export interface LedgerPosition {
  atMs: number;
  skipped: number;
}

export interface LedgerPage {
  /** Newest first, as `newestFirst` has it. */
  entries: LedgerEntry[];
  /** Undefined where nothing follows. */
  next: LedgerPosition | undefined;
}

/**
 * A page of a material's ledger, the newest one if `position` is undefined; empty for a material that the shop does not
 * have. Its cost does not grow with the ledger, and with the number of levels only by the few entries that it reads of
 * each. Entries are found by the primary key, level by level, and a time is found among a level's entries by bisection,
 * since times ascend with the sequence (`MaterialSnapshot.atMs`). Rows that are booked meanwhile are newer than any
 * position, so they do not shift later pages.
 *
 * @returns undefined if there is no such position: fewer than `skipped` entries have its time
 */
export async function readLedger(
  database: Database,
  { shopId, materialId }: MaterialRef,
  filter: LedgerFilter,
  { position, limit }: { position: LedgerPosition | undefined; limit: number },
): Promise<LedgerPage | undefined> {
  const skipped = position?.skipped ?? 0;
  // One more than is shown tells whether anything follows.
  const wanted = skipped + limit + 1;
  const untilMs = Math.min(position?.atMs ?? Infinity, filter.toMs ?? Infinity);
  const rows = await readRows<LedgerRow>(
    database,
    filter.requestId === undefined ? entriesOfMaterial(filter) : entriesOfRequest,
    {
      shopId,
      materialId,
      locationId: filter.locationId ?? null,
      requestId: filter.requestId ?? null,
      until: Number.isFinite(untilMs) ? untilMs : null,
      since: filter.fromMs ?? null,
      skipped,
      perLevel: limit + 1,
      wanted,
    },
  );
  const ordered = newestFirst(rows.map(toEntry), wanted);
  if (ordered.filter(({ atMs }) => atMs === position?.atMs).length < skipped) return undefined;
  const entries = ordered.slice(skipped, skipped + limit);
  return { entries, next: ordered.length === wanted ? positionAfter(ordered.slice(0, wanted - 1)) : undefined };
}

function positionAfter(ordered: readonly LedgerEntry[]): LedgerPosition {
  const atMs = ordered.at(-1)?.atMs ?? 0;
  return { atMs, skipped: ordered.filter((entry) => entry.atMs === atMs).length };
}

const columns = `g.sequence, g.op_id, g.row_index, g.requested_delta, g.requested_absolute, g.previous, g.applied,
  g.level_after, g.clamped, g.at, g.channel, g.key_id, g.request_id, g.reason, g.reference`;

/**
 * The recursive part of a bisection for the last entry of a level that is not later than `at`. Entries up to `low` are
 * not later, and those above `high` are; each round halves what is between, until the two are equal.
 */
const halve = (search: string) => `
    UNION ALL
    SELECT search.id, search.location_id, search.last, search.name, search.at,
           CASE WHEN middle.at <= search.at THEN middle.sequence ELSE search.low END,
           CASE WHEN middle.at <= search.at THEN search.high ELSE middle.sequence - 1 END
    FROM ${search} AS search CROSS JOIN LATERAL (
      SELECT g.sequence, g.at FROM ledger g
      WHERE g.shop_id = :shopId AND g.level_id = search.id AND g.sequence = (search.low + search.high + 1) / 2 OFFSET 0
    ) AS middle
    WHERE search.low < search.high`;

/**
 * First, `found` has for each level the sequence of the last entry not after `until`, of the last one before that time,
 * and of the last one before `since`. Between these, `reach` has the entries that could be on the page: at most a page
 * of each level. Sequences have no gaps, so a range of them is a count. It is empty if fewer than `skipped` entries have
 * the time of the position, which no page of ours has told: otherwise a cursor that a client has made up would have a
 * hundred thousand entries read and put in order.
 *
 * With many levels that would be many times the page (1,000 levels: a quarter of a million entries). So `deep` looks at
 * one entry of each level, at the depth at which half of the levels fill a page. The newest of these entries, as many
 * as are needed to fill the page, say how far back in time the page goes at most (`oldest`), and `older` finds that
 * time in each level. No CTE is joined to another by level, because the planner would compare each row with each. WITH
 * TIES, because all entries of the last time are needed to order them.
 *
 * The condition on a location is only there if one is asked for, so that its level is found by its key. With a
 * condition for both cases (`IS NULL OR`), each of the material's 10,000 levels was read: 314 buffers instead of 8.
 */
const entriesOfMaterial = ({ locationId }: Pick<LedgerFilter, 'locationId'>) => `
  WITH RECURSIVE bounds (name, ms) AS (
    VALUES ('none', NULL),
           ('until', CAST(:until AS bigint)),
           ('within', CASE WHEN :skipped > 0 THEN CAST(:until AS bigint) - 1 END),
           ('since', CAST(:since AS bigint) - 1)
  ),
  bounded (id, location_id, last, name, at, low, high) AS (
    SELECT id, location_id, sequence, bounds.name, to_timestamp(bounds.ms / 1000.0), CAST(0 AS bigint),
           CASE WHEN bounds.name = 'none' THEN 0 ELSE sequence END
    FROM levels CROSS JOIN bounds
    WHERE shop_id = :shopId AND material_id = :materialId${locationId === undefined ? '' : ' AND location_id = :locationId'}
      AND (bounds.ms IS NOT NULL OR bounds.name = 'none')${halve('bounded')}
  ),
  found AS (
    SELECT id, location_id, coalesce(max(low) FILTER (WHERE name = 'until'), last) AS last,
           max(low) FILTER (WHERE name = 'within') AS within, max(low) FILTER (WHERE name = 'since') AS since
    FROM bounded WHERE low >= high GROUP BY id, location_id, last
  ),
  reach AS (
    SELECT id, location_id, last, greatest(since, coalesce(within, last) - :perLevel, 0) AS before FROM found
    WHERE (SELECT coalesce(sum(last - within), 0) FROM found) >= :skipped
  ),
  depth AS (
    SELECT CAST(ceil(2.0 * :wanted / count(*)) AS bigint) AS entries FROM reach WHERE last > before HAVING count(*) > 0
  ),
  deep AS (
    SELECT reach.*, greatest(last - entries, before) AS shallow, g.at
    FROM depth CROSS JOIN reach LEFT JOIN LATERAL (
      SELECT at FROM ledger
      WHERE shop_id = :shopId AND level_id = reach.id AND sequence = last - entries + 1 AND sequence > before OFFSET 0
    ) AS g ON true
  ),
  oldest AS (
    SELECT at FROM deep WHERE at IS NOT NULL
    ORDER BY at DESC OFFSET (SELECT ceil(CAST(:wanted AS numeric) / entries) - 1 FROM depth) LIMIT 1
  ),
  -- If a level's entry at that depth is older than the page goes, only the entries above it are searched.
  older (id, location_id, last, name, at, low, high) AS (
    SELECT id, location_id, last, 'older', oldest.at - interval '1 microsecond',
           CASE WHEN oldest.at IS NULL OR deep.at >= oldest.at THEN before ELSE shallow END,
           CASE WHEN oldest.at IS NULL THEN before WHEN deep.at >= oldest.at THEN shallow ELSE last END
    FROM deep LEFT JOIN oldest ON true${halve('older')}
  )
  SELECT older.id AS level_id, older.location_id, ${columns}
  FROM older CROSS JOIN LATERAL (
    SELECT * FROM ledger AS g
    WHERE g.shop_id = :shopId AND g.level_id = older.id AND g.sequence <= older.last AND g.sequence > older.low
    OFFSET 0
  ) AS g
  WHERE older.low >= older.high
  ORDER BY g.at DESC FETCH FIRST :wanted ROWS WITH TIES`;

/**
 * A look-up by operation: a request that came over REST or MCP and its operation have the same id. All of its rows have
 * one time. OFFSET 0, because on tables without statistics the planner would go through all of the material's entries
 * instead (50 ms for 300,000, and 0.5 ms this way).
 */
const entriesOfRequest = `
  SELECT place.id AS level_id, place.location_id, ${columns}
  FROM (SELECT * FROM ledger WHERE op_id = :requestId OFFSET 0) AS g
  CROSS JOIN LATERAL (
    SELECT id, shop_id, material_id, location_id FROM levels WHERE levels.id = g.level_id OFFSET 0
  ) AS place
  WHERE g.request_id = :requestId AND g.shop_id = :shopId
    AND place.shop_id = :shopId AND place.material_id = :materialId
    AND (CAST(:locationId AS text) IS NULL OR place.location_id = :locationId)
    AND (CAST(:until AS bigint) IS NULL OR g.at <= to_timestamp(CAST(:until AS bigint) / 1000.0))
    AND (CAST(:since AS bigint) IS NULL OR g.at >= to_timestamp(CAST(:since AS bigint) / 1000.0))`;

interface LedgerRow {
  level_id: string;
  location_id: string;
  sequence: string;
  op_id: string;
  row_index: number;
  requested_delta: string | null;
  requested_absolute: string | null;
  previous: string;
  applied: string;
  level_after: string;
  clamped: boolean;
  at: Date;
  channel: Channel;
  key_id: string | null;
  request_id: string | null;
  reason: string | null;
  reference: string | null;
}

function toEntry(row: LedgerRow): LedgerEntry {
  return {
    levelId: row.level_id,
    locationId: row.location_id,
    sequence: Number(row.sequence),
    operationId: row.op_id,
    rowIndex: row.row_index,
    requested:
      row.requested_delta === null
        ? { absolute: fromDecimal(row.requested_absolute ?? '') }
        : { delta: fromDecimal(row.requested_delta) },
    previous: fromDecimal(row.previous),
    applied: fromDecimal(row.applied),
    level: fromDecimal(row.level_after),
    clamped: row.clamped,
    atMs: row.at.getTime(),
    channel: row.channel,
    keyId: row.key_id,
    requestId: row.request_id,
    reason: row.reason,
    reference: row.reference,
  };
}

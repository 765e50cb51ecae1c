import type { Database } from './connect.js';
import { opaqueShopId } from './opaque-shop-id.js';
import { settledTransaction } from './settled-transaction.js';
import { syncColumns, toSync, whileHeld } from './platform-syncs.js';
import type { KnownRun, PlatformSync, SyncHold, SyncRow, Transact } from './platform-syncs.js';

/** A location or variant that is in our tables and that the platform does not list any more. */
export interface Gone {
  kind: 'location' | 'variant';
  id: string;
  name: string;
  /** When a run first ended without having seen it; ISO 8601 in UTC. */
  since: string;
  /** Whether a bill of materials or a sub-assembly still needs it. */
  isUsed: boolean;
}

export interface FinishedSync {
  sync: PlatformSync;
  /** How many are gone in all, without those that were removed; `gone` has the first `goneShownMax` of them. */
  goneCount: number;
  gone: Gone[];
  /** Variants removed by this call. */
  removedCount: number;
}

/** The caller's signal came between two batches, so all of it was taken back: the run has yet to be finished. */
export class Interrupted extends Error {}

const goneShownMax = 100;
const removedPerBatch = 500;
/**
 * If a shop's platform is replaced, all variants of the old one are gone: half a million took 16 s in one statement.
 */
const sightingsPerBatch = 10_000;

/**
 * Ends a run that has seen every page: what it has not seen is gone from the platform. That is marked and kept, because
 * a location may have levels and a ledger, and a variant may be used by a bill. With `removeGone`, gone variants that
 * no bill uses are removed; locations never are.
 *
 * @returns undefined if the hold is lost or the run is not as `known`: then nothing was written
 * @throws Interrupted after `signal`; with `removeGone`, `OpenCommit` if it is not known whether anything was written
 *   (`settledTransaction`)
 */
export async function finishSync(
  database: Database,
  hold: SyncHold,
  known: KnownRun,
  { removeGone, signal }: { removeGone: boolean; signal?: AbortSignal | undefined },
): Promise<FinishedSync | undefined> {
  // No later run tells what this one has removed, so it must know whether it has.
  const transact: Transact = (held) => (removeGone ? settledTransaction(database, held) : database.transaction(held));
  const finish = async (transaction: Database): Promise<FinishedSync> => {
    const { shopId } = hold;
    await addUnsighted(transaction, shopId, signal);
    await markGone(transaction, shopId, known.generation, signal);
    const removedCount = removeGone ? await removeUnused(transaction, shopId, signal) : 0;
    const { rows } = await transaction.raw<{ rows: SyncRow[] }>(
      `UPDATE platform_syncs AS p
       SET phase = 'idle', cursor = NULL, synced_at = now(), problem = NULL, problem_at = NULL, lease_token = NULL,
           lease_until = NULL
       WHERE p.shop_id = :shopId RETURNING ${syncColumns}`,
      { shopId },
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the row of a sync is gone while it is locked');
    return { sync: toSync(row), removedCount, ...(await readGone(transaction, shopId)) };
  };
  return whileHeld(database, hold, known, finish, transact);
}

/**
 * Platform materials that no run has ever seen. In batches, so that no statement reaches its timeout; each begins where
 * the one before it ended.
 */
async function addUnsighted(transaction: Database, shopId: number, signal: AbortSignal | undefined): Promise<void> {
  let afterId = '';
  for (;;) {
    const asked = { shopId, afterId, limit: sightingsPerBatch };
    const { rows } = await transaction.raw<{ rows: { id: string }[] }>(unsightedBatch, asked);
    const [last] = rows;
    if (last === undefined) return;
    afterId = last.id;
    if (signal?.aborted === true) throw new Interrupted();
  }
}

/**
 * Returns the last material of the batch; no row if none was left. Each is looked up by its key (`OFFSET 0`): in a join
 * Postgres went through all sightings for each of them where its statistics did not know of the shop, and 30,000 took
 * more than the time of a statement. It ends before the first virtual material, since the ids of all others are numbers:
 * otherwise the last batch would read on through all that are virtual.
 */
const unsightedBatch = `
  WITH batch AS MATERIALIZED (
    SELECT m.id FROM materials m
    WHERE m.shop_id = ${opaqueShopId} AND m.id > :afterId AND m.id < 'VMAT-' AND m.origin = 'platform'
    ORDER BY m.id LIMIT :limit
  ),
  added AS (
    INSERT INTO platform_sightings (shop_id, kind, id, generation, gone_since)
    SELECT :shopId, 'variant', b.id, 0, now() FROM batch b
    WHERE NOT EXISTS (
      SELECT 1 FROM platform_sightings s WHERE s.shop_id = :shopId AND s.kind = 'variant' AND s.id = b.id OFFSET 0)
    ORDER BY b.id ON CONFLICT DO NOTHING
  )
  SELECT id FROM batch ORDER BY id DESC LIMIT 1`;

/** In batches like `addUnsighted`. */
async function markGone(
  transaction: Database,
  shopId: number,
  generation: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let [afterKind, afterId] = ['', ''];
  for (;;) {
    const asked = { shopId, generation, afterKind, afterId, limit: sightingsPerBatch };
    const { rows } = await transaction.raw<{ rows: { kind: string; id: string }[] }>(markBatch, asked);
    const [last] = rows;
    if (last === undefined) return;
    [afterKind, afterId] = [last.kind, last.id];
    if (signal?.aborted === true) throw new Interrupted();
  }
}

const isUnseen = `s.shop_id = :shopId AND (s.kind, s.id) > (:afterKind, :afterId)
  AND s.generation <> :generation AND s.gone_since IS NULL`;

/**
 * Marks a batch and returns its last row; no row if none was left. It marks what lies up to the last row: a join with
 * the batch has the trap of `unsightedBatch`.
 */
const markBatch = `
  WITH last AS MATERIALIZED (
    SELECT kind, id FROM (
      SELECT s.kind, s.id FROM platform_sightings s WHERE ${isUnseen} ORDER BY s.kind, s.id LIMIT :limit
    ) batch
    ORDER BY kind DESC, id DESC LIMIT 1
  ),
  marked AS (
    UPDATE platform_sightings s SET gone_since = now()
    WHERE ${isUnseen} AND (s.kind, s.id) <= (SELECT kind, id FROM last)
  )
  SELECT kind, id FROM last`;

/** In batches like `addUnsighted`, yet in one transaction: all, or none. */
async function removeUnused(transaction: Database, shopId: number, signal: AbortSignal | undefined): Promise<number> {
  let removedCount = 0;
  let afterId = '';
  for (;;) {
    const asked = { shopId, afterId, limit: removedPerBatch };
    const { rows: unused } = await transaction.raw<{ rows: { id: string }[] }>(unusedBatch, asked);
    const ids = unused.map(({ id }) => id);
    // If a session is adding one of these to a bill, this waits for it; the next statement sees what it did.
    await transaction.raw(lockBatch, { shopId, ids });
    const { rows } = await transaction.raw<{ rows: { count: number }[] }>(removeBatch, { shopId, ids });
    removedCount += rows[0]?.count ?? 0;
    if (ids.length < removedPerBatch) return removedCount;
    afterId = ids.at(-1) ?? '';
    if (signal?.aborted === true) throw new Interrupted();
  }
}

const isUsed = `EXISTS (
  SELECT 1 FROM bill_components c WHERE c.shop_id = s.shop_id AND c.material_id = s.id OFFSET 0)`;

/** A platform material has no levels. If one had some, it would have a history too, and is kept. */
const isUnused = `NOT ${isUsed}
  AND NOT EXISTS (SELECT 1 FROM levels l WHERE l.shop_id = s.shop_id AND l.material_id = s.id OFFSET 0)`;

/**
 * Whether it is gone is asked in a way of which the planner knows nothing. By its statistics, which are of before this
 * run, nothing is: it expected one row, and for each batch read and sorted all that are gone, of all shops.
 */
const unusedBatch = `
  SELECT s.id FROM platform_sightings s
  WHERE s.shop_id = :shopId AND s.kind = 'variant' AND s.id > :afterId
    AND coalesce(s.gone_since, '-infinity') > '-infinity' AND ${isUnused}
  ORDER BY s.id LIMIT :limit`;

/** In the order in which bills lock them. Their stock needs no lock: nobody locks it without this one. */
const lockBatch = `
  SELECT 1 FROM materials m WHERE m.shop_id = ${opaqueShopId} AND m.id = ANY (CAST(:ids AS text[]))
  ORDER BY m.id FOR UPDATE`;

/**
 * The ids are given as arrays, so that Postgres finds them in each table by its primary key. With joins it read all of
 * the shop's sightings for each batch: 2.5 s a batch with 100,000 of them, and 0.1 s in this form.
 */
const removeBatch = `
  WITH removable AS MATERIALIZED (
    SELECT s.id FROM platform_sightings s
    WHERE s.shop_id = :shopId AND s.kind = 'variant' AND s.id = ANY (CAST(:ids AS text[])) AND ${isUnused}
  ),
  unseen AS (
    DELETE FROM platform_sightings s
    WHERE s.shop_id = :shopId AND s.kind = 'variant' AND s.id = ANY (ARRAY (SELECT id FROM removable))
  ),
  unstocked AS (
    DELETE FROM stock t WHERE t.shop_id = ${opaqueShopId} AND t.material_id = ANY (ARRAY (SELECT id FROM removable))
  ),
  unmade AS (
    DELETE FROM materials m WHERE m.shop_id = ${opaqueShopId} AND m.id = ANY (ARRAY (SELECT id FROM removable))
  )
  SELECT count(*)::integer AS count FROM removable`;

/**
 * Names are looked up only for what is shown. When half a million had just been marked, and the planner's statistics
 * did not know of them yet, a join looked up all of them one by one, for 20 s.
 */
async function readGone(transaction: Database, shopId: number): Promise<{ goneCount: number; gone: Gone[] }> {
  const { rows } = await transaction.raw<{ rows: GoneRow[] }>(
    `SELECT s.kind, s.id, s.gone_since, ${isUsed} AS is_used, s.gone_count,
            coalesce(CASE s.kind
              WHEN 'variant' THEN (SELECT m.product_name FROM materials m WHERE m.shop_id = s.shop_id AND m.id = s.id)
              ELSE (SELECT l.name FROM locations l WHERE l.shop_id = s.shop_id AND l.id = s.id)
            END, '') AS name
     FROM (
       SELECT s.*, (count(*) OVER ())::integer AS gone_count FROM platform_sightings s
       WHERE s.shop_id = :shopId AND s.gone_since IS NOT NULL
       ORDER BY s.gone_since DESC, s.kind, s.id LIMIT :limit
     ) s
     ORDER BY s.gone_since DESC, s.kind, s.id`,
    { shopId, limit: goneShownMax },
  );
  const gone = rows.map(({ kind, id, name, gone_since, is_used }) => {
    return { kind, id, name, since: gone_since.toISOString(), isUsed: is_used };
  });
  return { goneCount: rows[0]?.gone_count ?? 0, gone };
}

interface GoneRow {
  kind: 'location' | 'variant';
  id: string;
  name: string;
  gone_since: Date;
  is_used: boolean;
  gone_count: number;
}

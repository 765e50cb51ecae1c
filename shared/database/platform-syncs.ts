import type { Database } from './connect.js';
import { runReadCommitted } from './read-committed.js';
import { readRows } from './read-rows.js';

/** Which list of the platform a run is at; `ending` once it has seen the last page, `idle` between runs. */
export type SyncPhase = 'idle' | 'locations' | 'variants' | 'ending';

/** How many the platform listed in this run, and how many of them were new to us or had changed. */
export interface SyncCount {
  seen: number;
  added: number;
  changed: number;
}

/** The mirror of a shop: its run under way, or the last one. Times are ISO 8601 in UTC. */
export interface PlatformSync {
  shopId: number;
  /** The number of the run. */
  generation: number;
  phase: SyncPhase;
  /** Where the next page begins; null at a list's first. */
  cursor: string | null;
  /** Pages that this run has brought in. */
  pages: number;
  locations: SyncCount;
  variants: SyncCount;
  startedAt: string | null;
  /** When a run last came to its end. */
  syncedAt: string | null;
  /** The code of what went wrong last, until a run comes to its end, or is interrupted without a problem. */
  problem: string | null;
  problemAt: string | null;
  /** Whether somebody holds it right now. */
  isRunning: boolean;
}

/** Who holds the sync of a shop: a token drawn anew for each hold. */
export interface SyncHold {
  shopId: number;
  token: string;
}

/**
 * What its holder knows of a run: its number, and how many pages it has brought in. If the row says otherwise, nothing
 * is written (`whileHeld`).
 */
export type KnownRun = Pick<PlatformSync, 'generation' | 'pages'>;

/** A hold that is not renewed for this long is over: after a kill −9, the next process can take it. */
export const syncLeaseMs = 10_000;

/**
 * Less than the time that a worker has to end in. The first hold of a shop locks the shop's own row as well (its foreign
 * key): without a limit, an operator's command waited for as long as another session held that row.
 */
const lockMsMax = 5_000;

/**
 * A run that was cut off goes on until this long after its last page. Later, too much may have changed, and it begins
 * anew. Not after its start: where many shops take turns, a large one may take days to its end.
 */
const resumableMsMax = 24 * 3_600_000;
const isRecent = `greatest(p.started_at, p.page_at) > now() - interval '${resumableMsMax} milliseconds'`;

/**
 * A run that a problem cut off, and that can go on, is due again after this, where the interval is longer. At an
 * interval of a day it would always begin anew, and a large catalogue might never come in whole.
 */
const cutOffRetryMsMax = 3_600_000;

/**
 * Takes the sync of a shop, unless another holds it, or it is not due.
 *
 * @param everyMs how long after the last attempt it is due (`isDue`); 0: at once
 * @returns undefined if it was not taken. `isResumable`: the last run got on not long ago, on this domain, and was cut
 *   off
 * @throws 55P03 (`isServerTimeout`) where another session's transaction holds a row that is needed
 */
export async function takeSync(
  database: Database,
  { shopId, token }: SyncHold,
  options: { domain: string; everyMs: number },
): Promise<{ sync: PlatformSync; isResumable: boolean } | undefined> {
  const { domain, everyMs } = options;
  const bindings = { shopId, token, domain, everyMs, syncLeaseMs };
  const rows = await runReadCommitted<SyncRow & { is_resumable: boolean }>(
    database,
    `INSERT INTO platform_syncs AS p (shop_id, lease_token, lease_until, attempted_at, platform_domain)
     VALUES (:shopId, :token, now() + ${ms('syncLeaseMs')}, now(), :domain)
     ON CONFLICT (shop_id) DO UPDATE
     SET lease_token = excluded.lease_token, lease_until = excluded.lease_until, attempted_at = excluded.attempted_at
     WHERE ${isFree} AND ${isDue(':domain')}
     RETURNING ${syncColumns}, p.phase <> 'idle' AND p.platform_domain = CAST(:domain AS text)
       AND ${isRecent} AS is_resumable`,
    bindings,
    { lockMsMax },
  );
  const [row] = rows;
  return row && { sync: toSync(row), isResumable: row.is_resumable };
}

/** What a run at another platform has left says nothing of this one. */
const ofDomain = (column: string) =>
  `${column} = CASE WHEN p.platform_domain IS NOT DISTINCT FROM :domain THEN p.${column} END`;

/** Begins a run from the first page. @returns undefined where the hold is lost */
export async function startSyncRun(
  database: Database,
  { shopId, token }: SyncHold,
  domain: string,
): Promise<PlatformSync | undefined> {
  const rows = await runReadCommitted<SyncRow>(
    database,
    `UPDATE platform_syncs AS p
     SET generation = p.generation + 1, phase = 'locations', cursor = NULL, platform_domain = :domain, pages = 0,
         locations_seen = 0, locations_added = 0, locations_changed = 0,
         variants_seen = 0, variants_added = 0, variants_changed = 0, started_at = now(),
         ${['synced_at', 'problem', 'problem_at'].map(ofDomain).join(', ')}
     WHERE p.shop_id = :shopId AND p.lease_token = :token
     RETURNING ${syncColumns}`,
    { shopId, token, domain },
    { lockMsMax },
  );
  return rows[0] && toSync(rows[0]);
}

/** Does nothing, and says nothing, where another has the hold by now: `whileHeld` tells. */
export async function renewSync(database: Database, { shopId, token }: SyncHold): Promise<void> {
  await runReadCommitted(
    database,
    `UPDATE platform_syncs SET lease_until = now() + ${ms('syncLeaseMs')} WHERE shop_id = :shopId AND lease_token = :token`,
    { shopId, token, syncLeaseMs },
    { lockMsMax },
  );
}

/**
 * Gives up the hold before the end of the run. The next hold goes on from there, or, with `abandon`, begins anew.
 * Without a problem the run was only interrupted, and is due at once; with a problem it is due at its usual time, but,
 * if it has brought in a page and can go on, after an hour at the latest.
 */
export async function releaseSync(
  database: Database,
  { shopId, token }: SyncHold,
  { problem, abandon }: { problem: string | null; abandon: boolean },
): Promise<void> {
  await runReadCommitted(
    database,
    `UPDATE platform_syncs
     SET problem = CAST(:problem AS text), problem_at = CASE WHEN CAST(:problem AS text) IS NULL THEN NULL ELSE now() END,
         phase = CASE WHEN :abandon THEN 'idle' ELSE phase END, cursor = CASE WHEN :abandon THEN NULL ELSE cursor END,
         lease_token = NULL, lease_until = NULL
     WHERE shop_id = :shopId AND lease_token = :token`,
    { shopId, token, problem, abandon },
    { lockMsMax },
  );
}

export type Transact = <T>(held: (transaction: Database) => Promise<T>) => Promise<T>;

/** As `lockMsMax`. */
const statementTimeoutMs = 5_000;

/**
 * Runs `work` in a transaction that locks the row of the shop's sync, if the sync is still ours and the run is as
 * known. It is not ours any more after a pause longer than the lease. The run is not as known if Postgres was restored,
 * or failed over to a standby, during it: the pages that Postgres lost would not be read again, and count as gone from
 * the platform. Settings are LOCAL, because of PgBouncer (pipeline §4).
 *
 * @param transact how the transaction is made
 * @returns undefined if it is not: then nothing was written
 */
export async function whileHeld<T>(
  database: Database,
  { shopId, token }: SyncHold,
  { generation, pages }: KnownRun,
  work: (transaction: Database) => Promise<T>,
  transact: Transact = (held) => database.transaction(held),
): Promise<T | undefined> {
  return transact(async (transaction) => {
    await transaction.raw(
      `SELECT set_config('statement_timeout', '${statementTimeoutMs}', true),
              set_config('lock_timeout', '${statementTimeoutMs}', true),
              set_config('idle_in_transaction_session_timeout', '${statementTimeoutMs}', true)`,
    );
    const { rows } = await transaction.raw<{ rows: object[] }>(
      `SELECT 1 FROM platform_syncs
       WHERE shop_id = ? AND lease_token = ? AND generation = ? AND pages = ? FOR UPDATE`,
      [shopId, token, generation, pages],
    );
    return rows.length === 0 ? undefined : work(transaction);
  });
}

/** Shops with a platform whose mirror is due, but for these; first those whose last attempt was longest ago. */
export async function findDueShops(
  database: Database,
  { everyMs, limit, except = [] }: { everyMs: number; limit: number; except?: readonly number[] },
): Promise<number[]> {
  const rows = await readRows<{ id: number }>(
    database,
    `SELECT s.id FROM shops s LEFT JOIN platform_syncs p ON p.shop_id = s.id
     WHERE s.platform_domain IS NOT NULL AND (p.shop_id IS NULL OR (${isFree} AND ${isDue('s.platform_domain')}))
       AND s.id <> ALL (CAST(:except AS integer[]))
     ORDER BY p.attempted_at NULLS FIRST, s.id LIMIT :limit`,
    { everyMs, limit, except },
  );
  return rows.map(({ id }) => id);
}

/** The mirrors of the platforms that shops have now, as far as a run was ever begun, by shop. */
export async function listSyncs(database: Database): Promise<Map<number, PlatformSync>> {
  const { rows } = await database.raw<{ rows: SyncRow[] }>(
    `SELECT ${syncColumns} FROM platform_syncs p
     JOIN shops s ON s.id = p.shop_id AND s.platform_domain = p.platform_domain`,
  );
  return new Map(rows.map((row) => [row.shop_id, toSync(row)]));
}

/**
 * A time further ahead than this was written before the clock of Postgres went back, and does not count. Otherwise a
 * shop whose mirror was tried while the clock was a day ahead could not be mirrored for a day, not even by an operator.
 */
const aheadMsMax = 2 * syncLeaseMs;
export const isAhead = (time: string) => `${time} > now() + interval '${aheadMsMax} milliseconds'`;

const isFree = `(p.lease_until IS NULL OR p.lease_until <= now() OR ${isAhead('p.lease_until')})`;

/** Of `platform_syncs p`; read by `toSync`. */
export const syncColumns = `p.shop_id, p.generation, p.phase, p.cursor, p.pages, p.locations_seen, p.locations_added,
  p.locations_changed, p.variants_seen, p.variants_added, p.variants_changed, p.started_at, p.synced_at, p.problem,
  p.problem_at, NOT ${isFree} AS is_running`;

export interface SyncRow {
  shop_id: number;
  generation: number;
  phase: SyncPhase;
  cursor: string | null;
  pages: number;
  locations_seen: number;
  locations_added: number;
  locations_changed: number;
  variants_seen: number;
  variants_added: number;
  variants_changed: number;
  started_at: Date | null;
  synced_at: Date | null;
  problem: string | null;
  problem_at: Date | null;
  is_running: boolean;
}

export function toSync(row: SyncRow): PlatformSync {
  return {
    shopId: row.shop_id,
    generation: row.generation,
    phase: row.phase,
    cursor: row.cursor,
    pages: row.pages,
    locations: { seen: row.locations_seen, added: row.locations_added, changed: row.locations_changed },
    variants: { seen: row.variants_seen, added: row.variants_added, changed: row.variants_changed },
    startedAt: row.started_at?.toISOString() ?? null,
    syncedAt: row.synced_at?.toISOString() ?? null,
    problem: row.problem,
    problemAt: row.problem_at?.toISOString() ?? null,
    isRunning: row.is_running,
  };
}

/**
 * Whether a mirror is due: the interval is over, its last attempt was cut off (nobody has released the hold), its run
 * was interrupted without a problem, or was cut off by one an hour ago and can go on from a page (`page_at` may be that
 * of an earlier run), or the shop now has another platform.
 */
function isDue(domain: string): string {
  return `(p.attempted_at <= now() - ${ms('everyMs')} OR ${isAhead('p.attempted_at')}
    OR p.lease_token IS NOT NULL
    OR (p.phase <> 'idle'
        AND (p.problem IS NULL OR (p.pages > 0 AND ${isRecent} AND p.attempted_at <= now() - ${cutOffRetry})))
    OR p.platform_domain IS DISTINCT FROM ${domain})`;
}

const cutOffRetry = `least(${ms('everyMs')}, interval '${cutOffRetryMsMax} milliseconds')`;

/** A binding in milliseconds as an interval. */
function ms(binding: string): string {
  return `make_interval(secs => CAST(:${binding} AS double precision) / 1000)`;
}

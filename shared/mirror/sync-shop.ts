import { randomUUID } from 'node:crypto';
import type { Database } from '../database/connect.js';
import { isDriverTimeout, isServerTimeout, isTransient } from '../database/errors.js';
import { finishSync, Interrupted } from '../database/finish-sync.js';
import type { FinishedSync } from '../database/finish-sync.js';
import { recordLocations, recordVariants } from '../database/platform-mirror.js';
import type { RecordedPage, SyncPosition } from '../database/platform-mirror.js';
import { releaseSync, renewSync, startSyncRun, syncLeaseMs, takeSync } from '../database/platform-syncs.js';
import type { PlatformSync, SyncHold } from '../database/platform-syncs.js';
import type { Shop } from '../database/shops.js';
import type { CommercePlatform, PlatformPage, PlatformResult, PlatformShop } from '../platform/commerce-platform.js';
import { openPlatformShop } from '../platform/open-platform-shop.js';
import type { TokenCipher } from '../platform/token-cipher.js';
import { cleanLocations, cleanVariants } from './mirrored-rows.js';
import type { Cleaned, Remark } from './mirrored-rows.js';
import { isDeadEnd } from './sync-problems.js';
import type { SyncProblem } from './sync-problems.js';

export interface SyncDeps {
  /** Not the pool of the lanes. */
  database: Database;
  platform: CommercePlatform;
  tokenCipher: TokenCipher;
}

export interface SyncOptions {
  /** How long after the last attempt the shop is due; 0: at once. */
  everyMs?: number;
  /** After this the run is interrupted between two pages, so that other shops get their turn; it goes on next time. */
  sliceMsMax?: number;
  /** Removes materials that are gone from the platform and that no bill needs; otherwise they are kept. */
  removeGone?: boolean;
  pagesMax?: number;
  signal?: AbortSignal;
  onProgress?: (sync: PlatformSync) => void;
  /** Told where a run that had got on was cut off, if it does not go on from there but begins anew. */
  onAbandoned?: (sync: PlatformSync) => void;
}

export type SyncOutcome =
  /**
   * `removalWithheld`: what is gone was to be removed and was not, because no variant was listed at all, or none at the
   * last cursor.
   */
  | ({ status: 'complete'; resumed: boolean; removalWithheld: boolean } & Remarks & FinishedSync)
  | ({ status: 'failed'; problem: SyncProblem; resumed: boolean; sync: PlatformSync } & Remarks)
  /** Its time was over, or the process is to end; the next run goes on where it stands. */
  | ({ status: 'interrupted'; resumed: boolean; sync: PlatformSync } & Remarks)
  /** Another process has it, or it is not due. */
  | { status: 'not-taken' };

/** How many remarks there were in this process' part of the run, and the first `remarksShownMax` of them. */
export interface Remarks {
  remarkCount: number;
  remarks: Remark[];
}

const remarksShownMax = 100;

/** Half a million variants; a platform whose pages never end is stopped here. */
const pagesMaxDefault = 10_000;

/**
 * Mirrors a shop's locations and variants from its commerce platform into its tables, page by page (contract §8). Each
 * page commits together with the place where the run stands, so that a run that was killed goes on from there, and the
 * same page twice changes nothing. One process at a time: the hold is a row in Postgres with a lease.
 *
 * @throws what Postgres answers; nothing is lost by it, and the lease runs out
 */
export async function syncShop(deps: SyncDeps, shop: Shop, options: SyncOptions = {}): Promise<SyncOutcome> {
  const hold: SyncHold = { shopId: shop.id, token: randomUUID() };
  const domain = shop.platform?.domain ?? '';
  const taken = await takeSync(deps.database, hold, { domain, everyMs: options.everyMs ?? 0 });
  if (taken === undefined) return { status: 'not-taken' };
  // If a renewal fails, the next one may succeed. If the hold is lost in the end, no page is written (`whileHeld`).
  // Once the process is to end none begins: its connection would be waited for, and the lease lasts longer than that.
  const renew = () => {
    if (options.signal?.aborted !== true) void renewSync(deps.database, hold).catch(() => undefined);
  };
  const renewal = setInterval(renew, syncLeaseMs / 3);
  try {
    const opened = openPlatformShop(shop, deps.tokenCipher);
    const run: Run = { deps, hold, options, domain, sync: taken.sync, resumed: false, remarkCount: 0, remarks: [] };
    if (!opened.ok) {
      // The sync's row must name the platform that was tried. With another name, the shop would be due all the time.
      if (!taken.isResumable && !(await begin(run))) return lost(run);
      return await fail(run, opened.error);
    }
    return await bringIn(run, opened.platformShop, taken.isResumable);
  } finally {
    clearInterval(renewal);
  }
}

interface Run {
  deps: SyncDeps;
  hold: SyncHold;
  options: SyncOptions;
  domain: string;
  sync: PlatformSync;
  resumed: boolean;
  remarkCount: number;
  remarks: Remark[];
}

async function bringIn(run: Run, platformShop: PlatformShop, isResumable: boolean): Promise<SyncOutcome> {
  const { pagesMax = pagesMaxDefault, sliceMsMax = Infinity, signal, onProgress } = run.options;
  const endAtMs = performance.now() + sliceMsMax;
  run.resumed = isResumable;
  if (!isResumable && !(await begin(run))) return lost(run);
  for (let isFirst = true; ; isFirst = false) {
    if (run.sync.phase === 'ending') return finish(run);
    if (signal?.aborted === true || performance.now() >= endAtMs) return interrupt(run);
    if (run.sync.pages >= pagesMax) return fail(run, 'too-many-pages');
    const page = await nextPage(run, platformShop, run.resumed && isFirst && run.sync.cursor !== null);
    if (page.status === 'interrupted') return interrupt(run);
    if (page.status === 'empty') return finish(run);
    if (page.status === 'failed') return fail(run, page.problem);
    if (page.status === 'stale') {
      run.resumed = false;
      if (!(await begin(run))) return lost(run);
      continue;
    }
    if (page.status === 'lost') return lost(run);
    run.sync = page.sync;
    onProgress?.(run.sync);
    if (page.freshCount === 0 && run.sync.cursor !== null) return fail(run, 'pages-repeat');
  }
}

type Page =
  | ({ status: 'recorded' } & RecordedPage)
  | { status: 'lost' }
  | { status: 'failed'; problem: SyncProblem }
  /** The run that went on at this cursor begins anew, once. */
  | { status: 'stale' }
  /** No variant is listed at a cursor of this run. It stays there: if it is interrupted now, it begins anew. */
  | { status: 'empty' }
  | { status: 'interrupted' };

/**
 * Brings one page from the platform into the tables: of locations, and after the last of those, of variants.
 *
 * @param isInherited whether an earlier call of `syncShop` left the cursor
 */
async function nextPage(run: Run, platformShop: PlatformShop, isInherited: boolean): Promise<Page> {
  const { deps, hold, sync, options } = run;
  const { database, platform } = deps;
  try {
    if (sync.phase !== 'variants') {
      const listed = await platform.listLocations(platformShop, sync.cursor, options.signal);
      if (isInherited && isStale(listed)) return { status: 'stale' };
      if (!listed.ok) return { status: 'failed', problem: listed.error };
      const { items, next } = listed.data;
      const then: SyncPosition = { phase: next === null ? 'variants' : 'locations', cursor: next };
      const recorded = await recordLocations(database, hold, sync, remarked(run, cleanLocations(items)), then);
      return recorded === undefined ? { status: 'lost' } : { status: 'recorded', ...recorded };
    }
    const listed = await platform.listVariants(platformShop, sync.cursor, options.signal);
    if (isInherited && isStale(listed)) return { status: 'stale' };
    if (!listed.ok) return { status: 'failed', problem: listed.error };
    if (sync.cursor !== null && isEmptyEnd(listed.data)) return { status: 'empty' };
    const { items, next } = listed.data;
    const then: SyncPosition = { phase: next === null ? 'ending' : 'variants', cursor: next };
    const recorded = await recordVariants(database, hold, sync, remarked(run, cleanVariants(items)), then);
    return recorded === undefined ? { status: 'lost' } : { status: 'recorded', ...recorded };
  } catch (error) {
    // To give up the hold would take as long once more where Postgres is silent or away; there, the lease runs out.
    if (options.signal?.aborted === true && !isAway(error)) return { status: 'interrupted' };
    throw error;
  }
}

/** Of a page that failed: Knex tells of a Postgres that was silent by the lost connection of its ROLLBACK. */
function isAway(error: unknown): boolean {
  return isDriverTimeout(error) || (isTransient(error) && !isServerTimeout(error));
}

/**
 * A platform may refuse an old cursor. If it lists nothing more there, the shop's token may have lost the right to see
 * anything, and all that the run has not seen yet would count as gone: only a run from the first page tells.
 */
function isStale(listed: PlatformResult<PlatformPage<unknown>>): boolean {
  return listed.ok ? isEmptyEnd(listed.data) : listed.error === 'invalid-response';
}

function isEmptyEnd({ items, next }: PlatformPage<unknown>): boolean {
  return items.length === 0 && next === null;
}

function remarked<Row>(run: Run, { rows, remarks }: Cleaned<Row>): Row[] {
  run.remarkCount += remarks.length;
  run.remarks.push(...remarks.slice(0, remarksShownMax - run.remarks.length));
  return rows;
}

async function begin(run: Run): Promise<boolean> {
  const sync = await startSyncRun(run.deps.database, run.hold, run.domain);
  if (sync === undefined) return false;
  if (run.sync.phase !== 'idle' && run.sync.pages > 0) run.options.onAbandoned?.(run.sync);
  run.sync = sync;
  return true;
}

async function finish(run: Run): Promise<SyncOutcome> {
  const { removeGone: isAsked = false, signal } = run.options;
  // If no variant is listed at all, or none where the page before said that there are more (the run is still at that
  // cursor), we have probably lost the right to see them.
  const removalWithheld = isAsked && (run.sync.variants.seen === 0 || run.sync.cursor !== null);
  const removeGone = isAsked && !removalWithheld;
  try {
    const finished = await finishSync(run.deps.database, run.hold, run.sync, { removeGone, signal });
    return finished === undefined ? lost(run) : { status: 'complete', removalWithheld, ...finished, ...told(run) };
  } catch (error) {
    if (error instanceof Interrupted) return interrupt(run);
    throw error;
  }
}

async function fail(run: Run, problem: SyncProblem): Promise<SyncOutcome> {
  await releaseSync(run.deps.database, run.hold, { problem, abandon: isDeadEnd(problem) });
  return { status: 'failed', problem, sync: run.sync, ...told(run) };
}

async function interrupt(run: Run): Promise<SyncOutcome> {
  await releaseSync(run.deps.database, run.hold, { problem: null, abandon: false });
  return { status: 'interrupted', sync: run.sync, ...told(run) };
}

/** Another process holds the run now, or it is not as we know it, so nothing is written about it. */
function lost(run: Run): SyncOutcome {
  return { status: 'failed', problem: 'lease-lost', sync: run.sync, ...told(run) };
}

function told({ resumed, remarkCount, remarks }: Run): Remarks & { resumed: boolean } {
  return { resumed, remarkCount, remarks };
}

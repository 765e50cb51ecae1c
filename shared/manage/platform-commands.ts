import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { OpenCommit } from '../database/settled-transaction.js';
import { isDeadlock, isServerTimeout, isTransient, outageSentence } from '../database/errors.js';
import { syncLeaseMs } from '../database/platform-syncs.js';
import type { PlatformSync } from '../database/platform-syncs.js';
import { findShop, listShops } from '../database/shops.js';
import type { Shop } from '../database/shops.js';
import { syncShop } from '../mirror/sync-shop.js';
import type { SyncDeps, SyncOptions, SyncOutcome } from '../mirror/sync-shop.js';
import { createShopifyPlatform } from '../platform/shopify/shopify-platform.js';
import { createTokenCipher } from '../platform/token-cipher.js';
import { exitCodes } from '../runtime/exit-codes.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { counted } from './format-table.js';
import { onceASecond } from './once-a-second.js';
import { wholeNumber } from './option-parsers.js';
import { sameKey } from './platform-options.js';
import { requireShop } from './require-shop.js';
import { exitCodeBy, maybeDone } from './run-command.js';
import type { Answer, CommandContext, CommandOutcome, Refused, RunCommand } from './run-command.js';
import { addJsonOption } from './shop-option.js';
import { describeReports, reportOf } from './sync-report.js';
import type { HeldUp, SyncReport } from './sync-report.js';

interface SyncCommandOptions {
  json?: true;
  shop?: number;
  removeGone?: true;
}

const busyRetryMs = 500;
/** If a run's process was killed, its lease runs out within this time; a run that is still held then is alive. */
const busyMsMax = syncLeaseMs + 2_000;
/** Longer than a statement of a mirror may take, and less than the ten seconds after which a container is killed. */
const endMsMax = 8_000;

export function addPlatformCommands(program: Command, run: RunCommand): void {
  addJsonOption(
    program
      .command('platform')
      .description('The mirror of the commerce platform.')
      .command('sync')
      .description(
        'Brings variants and locations from the platform, going on where a run was cut off. Exit code 1 where a shop is not complete, and 75 where only others that hold it were in the way: run it again.',
      )
      .option('--shop <id>', 'only this shop; without, every shop that has a platform', wholeNumber(1))
      .option(
        '--remove-gone',
        'removes materials that are gone from the platform, unless a bill uses them or they have a level; none where the platform lists no variant at all, or none on the last of several pages',
      ),
  ).action((options: SyncCommandOptions) => run(options, (context) => sync(context, options)));
}

async function sync(context: CommandContext, options: SyncCommandOptions): Promise<CommandOutcome> {
  const { database, platformTokenKey: key, allowLoopback } = context;
  const shops = await findShops(context, options.shop);
  if (!shops.ok) return shops;
  if (key === undefined) return failed(`PLATFORM_TOKEN_KEY is not set, so no platform token can be opened. ${sameKey}`);
  const platform = createShopifyPlatform({ allowLoopback });
  const deps: SyncDeps = { database, platform, tokenCipher: createTokenCipher(key) };
  const passage: Passage = { removeGone: options.removeGone === true, shopId: 0, reports: [] };
  const watch = watchSignals(context, passage);
  try {
    return await syncAll(context, deps, shops.value, passage, watch.signal);
  } finally {
    watch.stop();
  }
}

/** The command's way through the shops: at which it is, and what became of those before it. */
interface Passage {
  removeGone: boolean;
  shopId: number;
  reports: SyncReport[];
}

async function syncAll(
  context: CommandContext,
  deps: SyncDeps,
  shops: readonly Shop[],
  passage: Passage,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const { removeGone, reports } = passage;
  // Of many shops, each done within a second, nothing else would be said for minutes.
  const say = onceASecond(context.progress);
  const isEnding = () => signal.aborted;
  for (const [index, { id }] of shops.entries()) {
    // The signal came while the shop before was completed; this one was not begun.
    if (isEnding()) return endedBy(signal, passage, 'after');
    passage.shopId = id;
    say(() => `${index} of ${shops.length} shops`);
    try {
      const synced = await syncWhenFree(context, deps, id, { removeGone, signal });
      if (synced !== undefined) reports.push(reportOf(synced.shop, synced.outcome));
      if (isEnding() && synced?.outcome.status !== 'complete') return endedBy(signal, passage, 'in');
    } catch (error) {
      if (isTransient(error) || error instanceof OpenCommit) return endedIn(error, passage);
      // The fault is rethrown with its stack, but what was removed before it is told by no later run.
      if (reports.some(({ removedCount }) => removedCount > 0)) context.progress(describeReports(reports));
      throw error;
    }
  }
  const exitCode = exitCodeOf(reports.filter(({ status }) => status !== 'complete'));
  return {
    ok: true,
    value: { data: { shops: reports }, text: describeReports(reports), exitCode, ...unread(reports) },
  };
}

/** What was removed is told by no later run. */
function unread(reports: readonly SyncReport[]): Pick<Answer, 'unread'> {
  const removed = reports
    .filter(({ removedCount }) => removedCount > 0)
    .map(({ shopId, removedCount }) => `${counted(removedCount, 'material')} of shop ${shopId}`);
  if (removed.length === 0) return {};
  return { unread: `Gone from the platform, and removed: ${removed.join(', ')}; only this could not be shown.` };
}

/** A database that fails us in one shop would in the next. */
function endedIn(error: unknown, passage: Passage): Refused {
  const what =
    error instanceof OpenCommit
      ? `The database went away while what is gone was being removed: ${maybeDone}`
      : outageSentence(error);
  return ended(`${what} This ended the run in shop ${passage.shopId}.`, passage, exitCodes.unavailable);
}

function endedBy({ reason }: AbortSignal, passage: Passage, where: 'in' | 'after'): Refused {
  const name = reason as NodeJS.Signals;
  return ended(`${name} ended the run ${where} shop ${passage.shopId}.`, passage, exitCodeBy(name));
}

/** What was done before the end, and removed, is said. */
function ended(problem: string, { reports }: Passage, exitCode: number): Refused {
  const done = reports.length === 0 ? '' : `\n\n${describeReports(reports)}`;
  return { ok: false, problem: problem + done, data: { shops: reports }, exitCode };
}

interface SignalWatch {
  signal: AbortSignal;
  stop: () => void;
}

/**
 * A signal gives up the page under way, and ends the command once it is known what became of the shop. Postgres may not
 * say so, as while a standby is missing: then it is not waited for.
 */
function watchSignals({ holdSignals, endBy }: CommandContext, passage: Passage): SignalWatch {
  const abort = new AbortController();
  let isOver = false;
  holdSignals((name) => {
    // npm passes on what the terminal has sent already.
    if (isOver || abort.signal.aborted) return;
    abort.abort(name);
    const endIfOpen = () => {
      if (isOver) return;
      const open = passage.removeGone ? ` If what is gone was being removed, ${maybeDone}` : '';
      const said = `${name} ended the run in shop ${passage.shopId}, which waits for Postgres.${open}`;
      const { problem, data } = ended(said, passage, exitCodeBy(name));
      endBy(name, problem, data);
    };
    setTimeout(endIfOpen, endMsMax).unref();
  });
  return { signal: abort.signal, stop: () => void (isOver = true) };
}

/** Where others were in the way of all of these, a later run may bring them in, and nobody has to act. */
function exitCodeOf(incomplete: readonly SyncReport[]): number {
  if (incomplete.length === 0) return 0;
  const othersHoldAll = incomplete.every(({ problem }) => problem?.code === 'held-up' || problem?.code === 'busy');
  return othersHoldAll ? exitCodes.running : exitCodes.failed;
}

async function findShops({ database }: CommandContext, shopId: number | undefined): Promise<Outcome<Shop[]>> {
  if (shopId === undefined) {
    const shops = await listShops(database);
    return { ok: true, value: shops.filter(({ platform }) => platform !== null) };
  }
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  if (shop.value.platform === null) {
    return failed(`Shop ${shopId} is not connected to a commerce platform. See: shops set --help`);
  }
  return { ok: true, value: [shop.value] };
}

/**
 * The shop is looked up for each attempt. Those before it may have taken hours, in which it was connected to another
 * platform: brought in from the one before, with what the new one lists removed as gone, that would be lost.
 *
 * @returns undefined where it has no platform any more
 */
async function syncWhenFree(
  context: CommandContext,
  deps: SyncDeps,
  shopId: number,
  options: SyncOptions,
): Promise<{ shop: Shop; outcome: SyncOutcome | HeldUp } | undefined> {
  const endAtMs = performance.now() + busyMsMax;
  for (let isFirst = true; ; isFirst = false) {
    const shop = await findShop(context.database, shopId);
    if (shop === undefined || shop.platform === null) return undefined;
    const outcome = await syncShop(deps, shop, { ...options, onProgress: tellProgress(context, shop) }).catch(heldUp);
    const isOver = options.signal?.aborted === true || performance.now() >= endAtMs;
    if (outcome.status !== 'not-taken' || isOver) return { shop, outcome };
    if (isFirst) context.progress(`Shop ${shopId}: another process has the run, or was killed in it; waiting`);
    await delay(busyRetryMs);
  }
}

/** A shop in which another session is in the way, or statements take too long, does not keep the others from theirs. */
function heldUp(error: unknown): HeldUp {
  if (isServerTimeout(error) || isDeadlock(error)) return { status: 'held-up' };
  throw error;
}

function tellProgress({ progress }: CommandContext, shop: Shop): (sync: PlatformSync) => void {
  const say = onceASecond(progress);
  return ({ pages, locations, variants }) =>
    say(() => `Shop ${shop.id}: ${locations.seen} locations, ${variants.seen} variants, ${pages} pages`);
}

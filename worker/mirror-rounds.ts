import { isDeadlock, isDriverTimeout, isServerTimeout, isTransient } from '../shared/database/errors.js';
import { findDueShops } from '../shared/database/platform-syncs.js';
import type { PlatformSync } from '../shared/database/platform-syncs.js';
import { findShop } from '../shared/database/shops.js';
import { assertTakesWrites } from '../shared/database/takes-writes.js';
import { syncProblemMessages } from '../shared/mirror/sync-problems.js';
import { syncShop } from '../shared/mirror/sync-shop.js';
import type { SyncDeps, SyncOutcome } from '../shared/mirror/sync-shop.js';
import type { Logger } from '../shared/runtime/logger.js';
import { periodically } from '../shared/runtime/periodically.js';
import type { Rounds } from '../shared/runtime/periodically.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';

/** A shop that was just connected, or whose run ended with its process, is found within this. */
const lookEveryMsDefault = 60_000;
const shopsPerLookMax = 100;
/** Half of a look: if more failed before and are tried again, the other half is for shops that did not. */
const retriedPerLookMax = 50;
/** A shop with a long catalogue, or a slow platform, lets others go first after this. */
const sliceMsMax = 120_000;

const beginsAnew =
  'A platform mirror begins anew: its last page is a day old, or its platform does not go on there, or is another.';

interface MirrorDeps extends SyncDeps {
  /** How often a shop is due; the first look is at once. */
  everyMs: number;
  logger: Logger;
}

/**
 * Keeps the mirrors of the shops' platforms fresh (contract §8): looks every minute which shops are due and brings them
 * in, one after the other; a shop is brought in by one worker at a time. Uses a pool of its own, so that the lanes
 * never wait for it. A stop gives up the page under way, or the end of a run, and so takes no longer than a statement
 * of Postgres.
 */
export function startMirrorRounds(deps: MirrorDeps, lookEveryMs = lookEveryMsDefault): Rounds {
  const fault = logRecurring(deps.logger, 'The platform mirrors could not be looked after.');
  return periodically(lookEveryMs, (signal) => runRound(deps, lookEveryMs, signal, fault.passed), fault);
}

/**
 * Brings in all shops that are due. If a look finds as many as it may, the next one follows at once: with a pause after
 * each, a worker brought in no more than a hundred shops a minute, and took more than three hours for 20,000 that are
 * due each hour. With more shops than the workers can bring in, the round never ends.
 *
 * @param passed called when all shops of a look have had their turn: the end of the round may never come
 * @throws where Postgres is away: no other shop would fare better, and the next round tries again
 */
async function runRound(deps: MirrorDeps, lookEveryMs: number, signal: AbortSignal, passed: () => void): Promise<void> {
  const { database, everyMs } = deps;
  /**
   * When each shop failed, the longest ago first. They may still be due, before all others, and a hundred of them would
   * be all that each look finds: so each is left out for as long as if the round had ended.
   */
  const failedAtMs = new Map<number, number>();
  for (;;) {
    for (const [shopId, atMs] of [...failedAtMs].slice(0, retriedPerLookMax)) {
      if (performance.now() - atMs >= lookEveryMs) failedAtMs.delete(shopId);
    }
    const due = await findDueShops(database, { everyMs, limit: shopsPerLookMax, except: [...failedAtMs.keys()] });
    for (const shopId of due) {
      if (signal.aborted) return;
      if ((await syncOne(deps, shopId, signal)) === 'failed') failedAtMs.set(shopId, performance.now());
    }
    if (due.length < shopsPerLookMax) return;
    passed();
  }
}

/**
 * Brings in one shop.
 *
 * @returns `failed` if Postgres or we failed, maybe before the attempt was put on record: then the shop may still be
 *   due
 * @throws where Postgres is away
 */
async function syncOne(deps: MirrorDeps, shopId: number, signal: AbortSignal): Promise<'done' | 'failed'> {
  const { database, everyMs, logger } = deps;
  try {
    const shop = await findShop(database, shopId);
    // It was disconnected from its platform since the look.
    if (shop === undefined || shop.platform === null) return 'done';
    const onAbandoned = ({ pages }: PlatformSync) => logger.warn({ shopId, pages }, beginsAnew);
    tell(logger, shopId, await syncShop(deps, shop, { everyMs, sliceMsMax, signal, onAbandoned }));
    return 'done';
  } catch (error) {
    if (isServerTimeout(error) || isDriverTimeout(error) || isDeadlock(error)) {
      // If commits wait for a standby that is away, each further shop would leave another waiting session in Postgres.
      // After a stop there is no further one, and the answer would only have to be waited for.
      if (!signal.aborted) await assertTakesWrites(database);
      // The shop that was tried the longest ago comes first in each round: if it ended this round, it would end them
      // all.
      logger.warn({ err: error, shopId }, 'A platform mirror was held up in Postgres; other shops go on.');
      return 'failed';
    }
    if (isTransient(error)) throw error;
    logger.error({ err: error, shopId }, 'A platform mirror met a fault of ours; other shops go on.');
    return 'failed';
  }
}

function tell(logger: Logger, shopId: number, outcome: SyncOutcome): void {
  switch (outcome.status) {
    case 'not-taken':
      return;
    case 'complete': {
      const { sync, goneCount, remarkCount, resumed } = outcome;
      const { pages, locations, variants } = sync;
      logger.info({ shopId, pages, locations, variants, goneCount, remarkCount, resumed }, 'A platform was mirrored.');
      return;
    }
    case 'interrupted':
      logger.info(
        { shopId, pages: outcome.sync.pages },
        'A platform mirror was interrupted; it goes on where it stands.',
      );
      return;
    case 'failed':
      logger.warn(
        { shopId, problem: outcome.problem, pages: outcome.sync.pages },
        syncProblemMessages[outcome.problem],
      );
  }
}

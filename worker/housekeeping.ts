import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Database } from '../shared/database/connect.js';
import { reasonOf } from '../shared/database/errors.js';
import { pruneFacets } from '../shared/database/facets.js';
import { pruneOperations } from '../shared/database/operations.js';
import { operationsKeptMs } from '../shared/inventory/time-limits.js';
import { runScript } from '../shared/queue/run-script.js';
import type { WorkerPresence } from '../shared/queue/worker-presence.js';
import type { Logger } from '../shared/runtime/logger.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';
import type { RecurringFault } from '../shared/runtime/recurring-fault.js';

export interface Housekeeping {
  /** Stops the rounds and takes the worker off the list of the living. */
  stop(): Promise<void>;
}

const beatEveryMs = 1_000;
const sweepEveryMs = 250;
const sweptMax = 100;
const pruneEveryMs = 60_000;
const pruneBatchSize = 2_000;
/** A round looks at every facet, at most 10,000 a second. */
const pruneFacetsEveryMs = 600_000;
const facetBatchSize = 1_000;
/** An import has a facet for minutes before it uses it. */
const facetRestMs = 3_600_000;
/** A pause between two batches leaves Postgres to the lanes: at most 20,000 operations a second. */
const prunePauseMs = 100;

interface Deps {
  redis: Redis;
  presence: WorkerPresence;
  database: Database;
  logger: Logger;
}

/**
 * What every worker does beside its lanes: says that it lives, makes ready the materials whose lease or turn has run
 * out (pipeline §2.9) or whose owner is gone, and deletes operations that nobody can ask for any more and facets that
 * no material has.
 */
export function startHousekeeping({ redis, presence, database, logger }: Deps): Housekeeping {
  let isStopping = false;
  const fault = (what: string) => logRecurring(logger, what, reasonOf);
  const pruneOperationsAfter = (after?: string) =>
    pruneOperations(database, { keptMs: operationsKeptMs, batchSize: pruneBatchSize, ...(after && { after }) });
  const pruneFacetsAfter = (after?: number) =>
    pruneFacets(database, { restMs: facetRestMs, batchSize: facetBatchSize, ...(after && { after }) });
  const inBatches =
    <Last>(prune: PruneAfter<Last>) =>
    () =>
      pruneAll(prune, () => isStopping);
  const rounds = [
    every(beatEveryMs, () => presence.beat(), fault('The heartbeat could not be written.')),
    every(sweepEveryMs, () => runScript(redis, 'rmSweep', sweptMax), fault('The sweep could not run.')),
    every(sweepEveryMs, () => presence.buryGone(), fault('Workers that are gone could not be looked for.')),
    every(pruneEveryMs, inBatches(pruneOperationsAfter), fault('Old operations could not be deleted.')),
    every(pruneFacetsEveryMs, inBatches(pruneFacetsAfter), fault('Facets without materials could not be deleted.')),
  ];
  return {
    async stop() {
      isStopping = true;
      for (const round of rounds) clearInterval(round);
      await presence.leave().catch(() => undefined);
    },
  };
}

/** Prunes a batch, and says where it ended if there may be more. */
type PruneAfter<Last> = (after?: Last) => Promise<Last | undefined>;

async function pruneAll<Last>(prune: PruneAfter<Last>, isStopping: () => boolean): Promise<void> {
  let after: Last | undefined;
  do {
    after = await prune(after);
    if (after !== undefined) await sleep(prunePauseMs);
  } while (after !== undefined && !isStopping());
}

/** Runs a round at once and then at every interval, but never beside itself. */
function every(intervalMs: number, round: () => Promise<unknown>, fault: RecurringFault): NodeJS.Timeout {
  let isRunning = false;
  const run = () => {
    if (isRunning) return;
    isRunning = true;
    round()
      .then(fault.passed, fault.failed)
      .finally(() => (isRunning = false));
  };
  run();
  return setInterval(run, intervalMs);
}

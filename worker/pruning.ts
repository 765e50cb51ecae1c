import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../shared/database/connect.js';
import { isDriverTimeout, isServerTimeout } from '../shared/database/errors.js';
import { pruneFacets } from '../shared/database/facets.js';
import { firstOperationIdAt, pruneOperations, pruneOperationsAhead } from '../shared/database/prune-operations.js';
import { operationsKeptMs } from '../shared/inventory/time-limits.js';
import type { Logger } from '../shared/runtime/logger.js';
import { periodically } from '../shared/runtime/periodically.js';
import type { Rounds } from '../shared/runtime/periodically.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';

const operationsEveryMs = 60_000;
const operationBatchMax = 2_000;
/** A round looks at every facet, at most 10,000 of them a second. */
const facetsEveryMs = 600_000;
const facetBatchMax = 1_000;
/** How long a facet without materials is kept: an import makes its facets minutes before it uses them. */
const facetRestMs = 3_600_000;
/** A pause between two batches leaves Postgres to the lanes: at most 20,000 operations a second. */
const pauseMs = 100;
/** So many batches have to be in time before they are doubled: the next that is not costs Postgres five seconds. */
const inTimeMin = 10;

/**
 * A round begins behind the last operation that was deleted: from the first id, it would pass over all that is deleted.
 * While somebody holds an old snapshot (`pg_dump`, a standby), Postgres can do away with none of that, and to pass over
 * millions of rows takes longer than a batch may. So often, and first of all, it begins at the first id all the same,
 * for what another session held, and for what was recorded later than its id says. If such a round fails, what was old
 * by then waits for the next one: the rounds between look at what became old since.
 */
const anewEveryMsDefault = 3_600_000;
/** The clocks of a worker, of the API processes and of Postgres may differ by so much. */
const clocksDifferMsMax = 300_000;

/** Deletes operations that nobody can ask for any more, and facets that no material has. */
export function startPruning(
  { database, logger }: { database: Database; logger: Logger },
  { everyMs = operationsEveryMs, anewEveryMs = anewEveryMsDefault } = {},
): Rounds {
  const operations = { batchMax: operationBatchMax, logger };
  const keptMs = operationsKeptMs;
  /** The rounds between begin behind this id, which goes only forward. */
  let behind = '';
  const goForward = (id: string) => {
    if (id > behind) behind = id;
  };
  let anewAtMs = 0;
  const rounds = [
    periodically(
      everyMs,
      async (signal) => {
        const isAnew = performance.now() >= anewAtMs;
        if (isAnew) {
          anewAtMs = performance.now() + anewEveryMs;
          goForward(firstOperationIdAt(Date.now() - keptMs - clocksDifferMsMax));
        }
        const from = isAnew ? undefined : behind;
        await inBatches<string>({ ...operations, signal, from }, async (batchSize, after) => {
          const { last, isFull } = await pruneOperations(database, { keptMs, batchSize, after });
          if (last !== undefined) goForward(last);
          return isFull ? last : undefined;
        });
        await inBatches<string>({ ...operations, signal }, async (batchSize, after) => {
          const { last, isFull } = await pruneOperationsAhead(database, { keptMs, batchSize, after });
          return isFull ? last : undefined;
        });
      },
      logRecurring(logger, 'Old operations could not be deleted.'),
    ),
    periodically(
      facetsEveryMs,
      (signal) =>
        inBatches<number>({ signal, logger, batchMax: facetBatchMax }, (batchSize, after) =>
          pruneFacets(database, { restMs: facetRestMs, batchSize, after }),
        ),
      logRecurring(logger, 'Facets without materials could not be deleted.'),
    ),
  ];
  return {
    async stop() {
      await Promise.all(rounds.map((round) => round.stop()));
    },
  };
}

interface Batches<Last> {
  signal: AbortSignal;
  logger: Logger;
  batchMax: number;
  /** Where the first one begins, if not at the first of all. */
  from?: Last | undefined;
}

/**
 * Prunes in batches that are halved when one takes too long, and doubled again after `inTimeMin` that did not. The results
 * on record may have a megabyte each: 2,000 of these took Postgres seven seconds, were given up after five, and then came
 * first again. A lock takes as long, but goes away, and beside steady writes the round may never end.
 *
 * @param prune prunes a batch; resolves with where it ended, or with undefined if there is no more
 */
async function inBatches<Last>(
  { signal, logger, batchMax, from }: Batches<Last>,
  prune: (batchSize: number, after: Last | undefined) => Promise<Last | undefined>,
): Promise<void> {
  let batchSize = batchMax;
  let after = from;
  let inTime = 0;
  let isTold = false;
  while (!signal.aborted) {
    try {
      after = await prune(batchSize, after);
      if (after === undefined) return;
      // Not once they are doubled: none of that size has been in time yet.
      if (batchSize === batchMax) isTold = false;
      inTime += 1;
      if (inTime % inTimeMin === 0) batchSize = Math.min(batchMax, 2 * batchSize);
    } catch (error) {
      if (batchSize === 1 || !(isDriverTimeout(error) || isServerTimeout(error))) throw error;
      batchSize = Math.ceil(batchSize / 2);
      inTime = 0;
      if (!isTold)
        logger.warn({ err: error, batchSize }, 'What is old takes too long to delete: the batches are halved.');
      isTold = true;
    }
    // A stop ends the pause.
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

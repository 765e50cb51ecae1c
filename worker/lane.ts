import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { applyTimeoutMsMax } from '../shared/database/apply-settings.js';
import { isRefusalOfAll, reasonOf } from '../shared/database/errors.js';
import { assertTakesWrites } from '../shared/database/takes-writes.js';
import { giveBack, leaseMs, renewLeases, takeMaterials } from '../shared/queue/leases.js';
import type { Held } from '../shared/queue/leases.js';
import { keys } from '../shared/queue/names.js';
import { ServesAnotherDatabase } from '../shared/queue/worker-presence.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';
import { cycleMsMax, materialsPerCycleMax, runCycle } from './cycle.js';
import type { WorkerDeps } from './deps.js';
import type { Waker } from './waker.js';

export interface Lane {
  /** Resolves when the lane has finished its last cycle and given back what it held. */
  done: Promise<void>;
  stop(): void;
}

const nothingHeld: Held = { nowMs: 0, sinceSentMs: () => 0, materials: [] };

/**
 * Pause after a fault of Redis or Postgres, before the next attempt; well below the five seconds of recovery
 * (reliability §2 T5).
 */
const faultPauseMs = 200;

/**
 * A cycle longer than all of its timeouts is stuck: its leases are left to run out, so that another worker takes its
 * materials instead of waiting for the end of this process. What it may still commit is on record.
 */
const stuckMs = 30_000;
assert(cycleMsMax + applyTimeoutMsMax < stuckMs, 'a cycle may take longer than one that is stuck');

/** Materials given back after a fault come back after this, through the sweep. */
const faultRetryMs = 250;

/**
 * One line of work in a worker process: take materials, run cycles until they are worked off, wait for more. A fault
 * never stops a lane: it gives back what it holds and tries anew once Redis and Postgres take writes.
 */
export function startLane(deps: WorkerDeps, waker: Waker): Lane {
  let isStopping = false;
  let held = nothingHeld;
  let steppedAtMs = performance.now();

  // A third of the lease: two renewals may be lost before it is.
  const renewal = setInterval(() => {
    const { materials } = held;
    if (materials.length === 0 || performance.now() - steppedAtMs > stuckMs) return;
    renewLeases(deps.redis, materials).catch((error: unknown) =>
      deps.logger.warn({ err: error }, 'Leases could not be renewed.'),
    );
  }, leaseMs / 3);

  async function step(): Promise<void> {
    steppedAtMs = performance.now();
    deps.presence.assertServes();
    if (held.materials.length === 0) held = await takeMaterials(deps.redis, deps.presence, materialsPerCycleMax);
    if (held.materials.length === 0) return waker.wait();
    // fail-point: after-take
    held = await runCycle(deps, held, () => !isStopping);
  }

  async function recoverFrom(error: unknown): Promise<void> {
    deps.logger.warn({ err: error }, 'A cycle met a fault of Redis or Postgres and is tried again.');
    deps.metrics.faulted();
    const { materials } = held;
    held = nothingHeld;
    // A disk that is full for ten seconds would use up every delivery, and operations would fail that have no fault.
    const isNobodysFault = isRefusalOfAll(error) || error instanceof ServesAnotherDatabase;
    const delivery = isNobodysFault ? 'uncounted' : 'counted';
    const giveAllBack = () => giveBack(deps.redis, materials, faultRetryMs, delivery);
    const isGivenBack = await giveAllBack().then(
      () => true,
      () => false,
    );
    await untilBothTakeWrites();
    // A Redis that comes back from its file still has our leases: without this their materials would wait them out.
    if (!isGivenBack) await giveAllBack().catch(() => undefined);
  }

  async function untilBothTakeWrites(): Promise<void> {
    const waits = logRecurring(deps.logger, 'Nothing is taken until Redis and Postgres take writes of ours.', reasonOf);
    while (!isStopping) {
      await sleep(faultPauseMs);
      try {
        // A replica would answer a question. A Redis with a full memory takes this write, and a lane frees memory.
        deps.presence.assertServes();
        await Promise.all([deps.redis.del(keys.nothing), assertTakesWrites(deps.database)]);
        return;
      } catch (error) {
        // Nothing is taken while either is away: a fetch that leads nowhere would only count as a delivery, and fill
        // the log.
        waits.failed(error);
      }
    }
  }

  async function run(): Promise<void> {
    while (!isStopping) await step().catch(recoverFrom);
    // Nothing of what is held now was tried: repeated stops must not use up its deliveries.
    await giveBack(deps.redis, held.materials, 0, 'uncounted').catch(() => undefined);
    held = nothingHeld;
    clearInterval(renewal);
  }

  return { done: run(), stop: () => (isStopping = true) };
}

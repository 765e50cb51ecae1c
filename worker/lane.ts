import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { applyTimeoutMsMax } from '../shared/database/apply-bounds.js';
import { isBlameless, isDiskFull, isRefusalOfAll, reasonWithoutStatement } from '../shared/database/errors.js';
import { assertMigrated } from '../shared/database/schema-state.js';
import { createWriteQuestion } from '../shared/database/takes-writes.js';
import { giveBack, leaseMs, nothingHeld, renewLeases, takeMaterials } from '../shared/queue/leases.js';
import { materialsPerCycleMax } from '../shared/queue/limits.js';
import { keys } from '../shared/queue/names.js';
import { tellRefusal } from '../shared/queue/refusal.js';
import { ServesAnotherDatabase } from '../shared/queue/worker-presence.js';
import { cycleMsMax } from './cycle-limits.js';
import { runCycle } from './cycle.js';
import type { LaneDeps } from './lane-deps.js';
import type { Waker } from './waker.js';

export interface Lane {
  /** Resolves when the lane has finished its last cycle and given back what it held. */
  done: Promise<void>;
  stop(): void;
}

/** Pause before each attempt after a fault of Redis or Postgres; recovery may take five seconds (reliability §2 T5). */
const faultPauseMs = 200;

/**
 * A cycle that takes longer than its timeouts allow is stuck. Its leases are not renewed any more, so that another
 * worker takes its materials and need not wait for the end of this process. If it still commits, that is on record.
 */
const stuckMs = 30_000;
assert(cycleMsMax + applyTimeoutMsMax < stuckMs, 'a cycle may take longer than one that is stuck');

/**
 * A worker none of whose lanes could use Postgres for so long tells the APIs: what is refused for a moment can wait for
 * it, and where others have taken all connections, one lane may go on.
 */
const cutOffAfterMs = 3_000;

/** After a fault, materials become ready again this much later, by the sweep. */
const faultRetryMs = 250;

/**
 * A worker process works in several lanes. Each takes materials, runs cycles until nothing is left to do for them, and
 * waits for more. A fault never stops a lane: it gives back what it holds, and takes again once Redis and Postgres
 * accept writes.
 */
export function startLane(deps: LaneDeps, waker: Waker): Lane {
  let isStopping = false;
  let held = nothingHeld;
  let steppedAtMs = performance.now();
  /** In a database that lacks a migration every operation would fail, and none of them would be to blame. */
  let isMigrated = false;

  // Three times a lease: two renewals may fail before it is lost.
  const renewal = setInterval(() => {
    const { materials } = held;
    if (materials.length === 0 || performance.now() - steppedAtMs > stuckMs) return;
    renewLeases(deps.redis, materials).catch((error: unknown) =>
      deps.logger.warn({ err: error }, 'Leases could not be renewed.'),
    );
  }, leaseMs / 3);

  async function step(): Promise<void> {
    if (!isMigrated) await assertMigrated(deps.database);
    isMigrated = true;
    steppedAtMs = performance.now();
    deps.presence.assertServes();
    if (held.materials.length === 0) held = await takeMaterials(deps.redis, deps.presence, materialsPerCycleMax);
    if (held.materials.length > 0) {
      // fail-point: after-take
      held = await runCycle(deps, held, () => isStopping);
    }
    // The take or the end of the cycle has found nothing ready; what was announced since has left a wake-up.
    if (held.materials.length === 0) held = await waker.take(deps.presence);
  }

  async function recoverFrom(error: unknown): Promise<void> {
    deps.faults.gaveUp(error);
    deps.metrics.faulted();
    const { materials } = held;
    held = nothingHeld;
    // Not counted where the operations are not to blame: a disk that is full for ten seconds would use up all of a
    // job's deliveries, and its operations would be recorded as failed. So would a Postgres that is away for seven,
    // where there are 25 lanes: each takes what another gave back, and meets it for itself.
    const saysNothingOfTheJobs = isRefusalOfAll(error) || isBlameless(error) || error instanceof ServesAnotherDatabase;
    const delivery = saysNothingOfTheJobs ? 'uncounted' : 'counted';
    const giveAllBack = () => giveBack(deps.redis, materials, faultRetryMs, delivery);
    if (isDiskFull(error)) await tellRefusal(deps.redis, reasonWithoutStatement(error)).catch(() => undefined);
    const isGivenBack = await giveAllBack().then(
      () => true,
      () => false,
    );
    await sleep(faultPauseMs);
    await untilBothTakeWrites();
    // A Redis that was started again from its file still has our leases; their materials would wait until they run out.
    if (!isGivenBack) await giveAllBack().catch(() => undefined);
  }

  async function untilBothTakeWrites(): Promise<void> {
    // A new one each time, so that it asks for the schema again: the database may be another by now.
    const askPostgres = createWriteQuestion(deps.database);
    const sinceMs = performance.now();
    let isCutOff = false;
    while (!isStopping) {
      try {
        // Writes, because a replica would answer a read. DEL is accepted even by a Redis whose memory is full, and
        // should be: lanes free its memory.
        deps.presence.assertServes();
        await Promise.all([deps.redis.del(keys.nothing), askPostgres()]);
        deps.faults.waits.passed();
        if (isCutOff) await deps.presence.tellCutOff(false);
        return;
      } catch (error) {
        // Nothing is taken meanwhile: it would only count as a delivery, and fill the log.
        deps.faults.waits.failed(error);
        const isTold = isCutOff;
        isCutOff = performance.now() - Math.max(sinceMs, deps.faults.lastUseMs()) > cutOffAfterMs;
        // Told again each time, since it lapses; and taken back once another lane has had use of both, or a try from
        // before that would tell it of a worker that has just recovered.
        if (isCutOff || isTold) await deps.presence.tellCutOff(isCutOff).catch(() => undefined);
        await sleep(faultPauseMs);
      }
    }
  }

  async function run(): Promise<void> {
    while (!isStopping) await step().catch(recoverFrom);
    // What is held now was not tried, so it does not count: repeated stops must not use up its deliveries.
    await giveBack(deps.redis, held.materials, 0, 'uncounted').catch(() => undefined);
    held = nothingHeld;
    clearInterval(renewal);
  }

  return { done: run(), stop: () => (isStopping = true) };
}

import type { Database } from '../../shared/database/connect.js';
import { cancelOperations, findOutcomes } from '../../shared/database/operations.js';
import type { OperationOutcome } from '../../shared/domain/operation.js';
import { queueName } from '../../shared/queue/names.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { startRunningClock } from '../../shared/runtime/running-clock.js';
import type { SlotMap } from '../../shared/runtime/slot-map.js';
import type { DispatchMetrics } from './dispatch-metrics.js';
import { notApplied, toDispatchOutcome } from './dispatch-outcome.js';
import type { DispatchOutcome } from './dispatch-outcome.js';
import { announceQueued } from './enqueue.js';
import type { Enqueued } from './enqueue.js';
import { createLeftOpen } from './left-open.js';
import type { QueueLink } from './queue-link.js';
import { graceMs } from './settings.js';
import type { FormedJob, Waiter } from './waiter.js';

/**
 * What happens to a request without a reply (pipeline §3 "An honest answer"): once a second its outcome is looked up in
 * Postgres, and its job is announced again, or added again if it is gone. At the end of its wait it is cancelled in
 * Postgres; only if that fails too is its outcome unknown, and even then it is cancelled later if it can be (`LeftOpen`).
 */
export interface FollowUp {
  /** Cancels these at once: they may or may not have been queued, or a worker of another database took them. */
  cancelAtOnce: (waiters: Waiter[]) => void;
  stop: () => void;
}

export interface FollowUpDeps {
  link: QueueLink;
  database: Database;
  logger: Logger;
  metrics: DispatchMetrics;
  waiters: SlotMap<Waiter>;
  enqueue: (jobs: FormedJob[]) => Promise<Enqueued>;
  answer: (waiter: Waiter, outcome: DispatchOutcome) => void;
  /** For a job that a worker has had for `heldUpMs`. */
  holdUp: (job: FormedJob) => void;
}

const tickMs = 250;
export const lookUpEveryMs = 1_000;
/** A job that a worker has takes milliseconds, unless another session has its material locked. */
const heldUpMs = 1_000;
const batchSize = 1_000;
/**
 * A cancellation skips a material that is locked. Workers lock a busy one again and again, for milliseconds each time:
 * with a try at each tick alone, all four of a grace could meet such a lock, and the answer was 504.
 */
const lockedPauseMs = 50;

export function startFollowUp(deps: FollowUpDeps): FollowUp {
  let [isLookingUp, isCancelling, isStopped] = [false, false, false];
  let again: NodeJS.Timeout | undefined;
  const leftOpen = createLeftOpen(deps);
  /** Of the grace: while this process stands still, the answer to a cancellation may lie in its socket. */
  const clock = startRunningClock();
  /** Those whose material another session held at the last try. */
  const heldByOthers = new WeakSet<Waiter>();

  const timer = setInterval(() => {
    const nowMs = performance.now();
    const all = deps.waiters.values();
    for (const waiter of all) endUnformed(deps, waiter, nowMs);
    void lookUpDue(all, nowMs);
    void cancelDue(all, nowMs);
    void leftOpen.cancel();
  }, tickMs);

  async function lookUpDue(all: Waiter[], nowMs: number): Promise<void> {
    const due = all.filter((waiter) => hasJob(waiter) && !isBeingCancelled(waiter) && waiter.nextLookUpMs <= nowMs);
    if (isLookingUp || due.length === 0) return;
    isLookingUp = true;
    // Those beyond the batch stay due, and the next tick comes to them.
    const batch = due.slice(0, batchSize);
    for (const waiter of batch) waiter.nextLookUpMs = nowMs + lookUpEveryMs;
    await lookUp(deps, batch).catch((error: unknown) =>
      deps.logger.warn({ err: error, waiting: due.length }, 'Writes without a reply could not be followed up.'),
    );
    isLookingUp = false;
  }

  async function cancelDue(all: Waiter[], nowMs: number): Promise<void> {
    const due = all.filter((waiter) => hasJob(waiter) && (isBeingCancelled(waiter) || waiter.waitEndsMs <= nowMs));
    for (const waiter of due) {
      // Counted from now, not from the end of the wait: that may be long ago if this process stood still.
      waiter.graceEndsMs ??= clock.nowMs() + graceMs;
      if (clock.nowMs() <= waiter.graceEndsMs) continue;
      deps.metrics.outcomeUnknown();
      if (heldByOthers.has(waiter)) leftOpen.add({ ...waiter.ref, id: waiter.operation.id });
      deps.answer(waiter, { status: 'unknown' });
    }
    const open = due.filter(({ operation }) => deps.waiters.has(operation.id));
    if (isCancelling || open.length === 0) return;
    isCancelling = true;
    let isAnyLocked = false;
    // All of them, not only the first batch: its materials may be locked for as long as the grace lasts.
    for (let start = 0; start < open.length; start += batchSize) {
      const batch = open.slice(start, start + batchSize);
      try {
        const held = await cancel(deps, batch);
        for (const waiter of held) heldByOthers.add(waiter);
        isAnyLocked ||= held.length > 0;
      } catch (error) {
        deps.logger.warn({ err: error, waiting: open.length }, 'Operations could not be cancelled.');
      }
    }
    isCancelling = false;
    if (isAnyLocked) cancelSoonAgain();
  }

  function cancelSoonAgain(): void {
    clearTimeout(again);
    if (isStopped) return;
    again = setTimeout(() => void cancelDue(deps.waiters.values(), performance.now()), lockedPauseMs);
  }

  return {
    cancelAtOnce(waiters) {
      for (const waiter of waiters) waiter.graceEndsMs ??= clock.nowMs() + graceMs;
      void cancelDue(waiters, performance.now());
    },
    stop() {
      isStopped = true;
      clearInterval(timer);
      clearTimeout(again);
      clock.stop();
    },
  };
}

function hasJob({ job }: Waiter): boolean {
  return job !== undefined;
}

function isBeingCancelled({ graceEndsMs }: Waiter): boolean {
  return graceEndsMs !== undefined;
}

/** Answers a request whose wait is over and whose operation was never sent, so that nothing is to be cancelled. */
function endUnformed({ answer }: FollowUpDeps, waiter: Waiter, nowMs: number): void {
  if (hasJob(waiter) || waiter.waitEndsMs > nowMs) return;
  answer(waiter, notApplied('The operation waited too long behind others of its material or shop.'));
}

async function lookUp(deps: FollowUpDeps, due: Waiter[]): Promise<void> {
  deps.metrics.lookedUp(due.length);
  answerRecorded(deps, due, await findOutcomes(deps.database, due.map(operationId)));
  const jobs = new Set<FormedJob>();
  for (const waiter of due) {
    const { job, operation } = waiter;
    if (job !== undefined && !isBeingCancelled(waiter) && deps.waiters.has(operation.id)) jobs.add(job);
  }
  if (jobs.size === 0) return;
  const { missing, taken } = await announceQueued(deps.link, [...jobs]);
  for (const job of taken) if (performance.now() - job.formedMs >= heldUpMs) deps.holdUp(job);
  // A job that was done after Postgres was asked is gone as well, and by now what became of it is on record.
  const gone = missing.flatMap(({ open }) => [...open]);
  if (gone.length > 0) answerRecorded(deps, gone, await findOutcomes(deps.database, gone.map(operationId)));
  // Redis was flushed or lost the job, so it is added again. A worker finds on record what was applied meanwhile.
  for (const job of missing) {
    if (job.open.size === 0) continue;
    deps.logger.warn({ queue: queueName(job.ref), operations: job.open.size }, 'A job was lost and is added again.');
    deps.metrics.jobAddedAgain();
    await deps.enqueue([job]);
  }
}

/** @returns those whose material another session holds */
async function cancel(deps: FollowUpDeps, due: Waiter[]): Promise<Waiter[]> {
  const refs = due.map(({ ref, operation }) => ({ ...ref, id: operation.id }));
  const { outcomes } = await cancelOperations(deps.database, refs);
  deps.metrics.cancelled(due.filter(({ operation }) => outcomes.get(operation.id)?.status === 'cancelled').length);
  answerRecorded(deps, due, outcomes);
  return due.filter(({ operation }) => deps.waiters.has(operation.id));
}

function answerRecorded(deps: FollowUpDeps, due: Waiter[], outcomes: Map<string, OperationOutcome>): void {
  for (const waiter of due) {
    const outcome = outcomes.get(waiter.operation.id);
    if (outcome !== undefined) deps.answer(waiter, toDispatchOutcome(outcome));
  }
}

function operationId({ operation }: Waiter): string {
  return operation.id;
}

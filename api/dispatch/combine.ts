import { randomUUID } from 'node:crypto';
import { queueName } from '../../shared/queue/names.js';
import type { DispatchOutcome } from './dispatch-outcome.js';
import type { Enqueued } from './enqueue.js';
import { notApplied } from './waiter.js';
import type { SentJob, Waiter } from './waiter.js';

/**
 * Combining (pipeline §2.2): of each material this process has at most one job in flight; what comes meanwhile forms
 * the next. Nothing waits when the material is idle: there is no timer. It is what group commit is to a log.
 */
export interface Combiner {
  add: (waiter: Waiter) => void;
  /** Takes a waiter that has its answer, or never gets one, out of its job; the last one out sends the next job. */
  leave: (waiter: Waiter) => void;
}

interface Line {
  inFlight: SentJob | undefined;
  waiting: Waiter[];
  isFlushing: boolean;
}

/** Bounds of one job (pipeline §2 "Limits"). */
const operationsAJobMax = 128;
const rowsAJobMax = 2_000;
const bytesAJobMax = 2 * 1_024 * 1_024;

export interface CombinerDeps {
  send: (job: SentJob) => Promise<Enqueued>;
  settle: (waiter: Waiter, outcome: DispatchOutcome) => void;
  /** For waiters whose job may or may not stand in the queue. */
  giveUp: (waiters: Waiter[]) => void;
}

export function createCombiner({ send, settle, giveUp }: CombinerDeps): Combiner {
  const lines = new Map<string, Line>();

  function flushSoon(name: string, line: Line): void {
    if (line.isFlushing || line.inFlight !== undefined) return;
    line.isFlushing = true;
    // After this turn of the event loop, so that requests that arrived in one read of the sockets go as one job.
    setImmediate(() => {
      line.isFlushing = false;
      flush(name, line);
    });
  }

  function flush(name: string, line: Line): void {
    const open = nextJob(line.waiting);
    const [first] = open;
    if (first === undefined) {
      lines.delete(name);
      return;
    }
    const job: SentJob = { id: randomUUID(), ref: first.ref, open: new Set(open) };
    for (const waiter of open) waiter.job = job;
    line.inFlight = job;
    void send(job).then((enqueued) => {
      const stillOpen = [...job.open];
      if (enqueued === 'not-queued') {
        for (const waiter of stillOpen) settle(waiter, notApplied('The queue is not reachable.'));
      }
      if (enqueued === 'uncertain') giveUp(stillOpen);
    });
  }

  return {
    add(waiter) {
      const name = queueName(waiter.ref);
      const line = lines.get(name) ?? { inFlight: undefined, waiting: [], isFlushing: false };
      lines.set(name, line);
      line.waiting.push(waiter);
      flushSoon(name, line);
    },
    leave(waiter) {
      const name = queueName(waiter.ref);
      const line = lines.get(name);
      if (line === undefined) return;
      if (waiter.job === undefined) {
        line.waiting = line.waiting.filter((other) => other !== waiter);
        return;
      }
      waiter.job.open.delete(waiter);
      if (waiter.job.open.size > 0 || line.inFlight !== waiter.job) return;
      line.inFlight = undefined;
      if (line.waiting.length > 0) flush(name, line);
      else lines.delete(name);
    },
  };
}

/** Takes the oldest waiters that fit one job out of the line; always at least one. */
function nextJob(waiting: Waiter[]): Waiter[] {
  let [count, rows, bytes] = [0, 0, 0];
  for (const waiter of waiting) {
    rows += waiter.rowCount;
    bytes += waiter.bytes;
    if (count > 0 && (count >= operationsAJobMax || rows > rowsAJobMax || bytes > bytesAJobMax)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

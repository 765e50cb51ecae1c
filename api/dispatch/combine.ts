import { randomUUID } from 'node:crypto';
import { rowsPerJobMax } from '../../shared/queue/limits.js';
import { queueName } from '../../shared/queue/names.js';
import { notApplied } from './dispatch-outcome.js';
import type { DispatchOutcome } from './dispatch-outcome.js';
import type { Enqueued } from './enqueue.js';
import { createShopGates } from './shop-gates.js';
import type { ShopGates } from './shop-gates.js';
import { jobsSentMax } from './shop-limits.js';
import type { FormedJob, Waiter } from './waiter.js';

/**
 * Combining (pipeline §2.2), which is to a queue what group commit is to a log: each material has at most one job of
 * this process in flight, and what comes meanwhile forms the next. There is no timer: if the material is idle and its
 * shop has a place free, a job leaves at the end of this turn of the event loop.
 */
export interface Combiner extends Pick<ShopGates, 'inHandMax' | 'sendDue'> {
  add: (waiter: Waiter) => void;
  /**
   * Removes a waiter that has its answer from its job or, if it is in none yet, from the line. To be called once for
   * each. When the last of a job has left, the material's next job may be sent.
   */
  leave: (waiter: Waiter) => void;
  /** A worker has had this job for long, and something holds it up: other materials of its shop pass it by. */
  holdUp: (job: FormedJob) => void;
}

/** The waiters of one material. */
interface Line {
  inFlight: FormedJob | undefined;
  waiting: Waiter[];
}

/** Bounds of one job, beside `rowsPerJobMax` (pipeline §2 "Limits"). */
const operationsPerJobMax = 128;
const bytesPerJobMax = 2 * 1_024 * 1_024;

/** As many as one shop may have in flight, which take Redis 8 ms. Three thousand, of 300 shops, took it 400 ms. */
const jobsPerTransactionMax = jobsSentMax;

export interface CombinerDeps {
  /** Adds jobs of different materials in one transaction; the result is that of them all. */
  enqueue: (jobs: FormedJob[]) => Promise<Enqueued>;
  answer: (waiter: Waiter, outcome: DispatchOutcome) => void;
  /** For waiters whose job may or may not be in the queue. */
  cancelAtOnce: (waiters: Waiter[]) => void;
}

export function createCombiner({ enqueue, answer, cancelAtOnce }: CombinerDeps): Combiner {
  /** By the queue of their material. */
  const lines = new Map<string, Line>();
  const gates = createShopGates({
    form: nextJob,
    send: (jobs) => {
      for (const together of batches(jobs)) void enqueueTogether(together);
    },
    writesBehind: ({ ref, open }) => open.size + (lines.get(queueName(ref))?.waiting.length ?? 0),
  });

  async function enqueueTogether(jobs: FormedJob[]): Promise<void> {
    const enqueued = await enqueue(jobs);
    const open = jobs.flatMap((job) => [...job.open]);
    if (enqueued === 'not-queued') for (const waiter of open) answer(waiter, notApplied('The queue is not reachable.'));
    if (enqueued === 'uncertain') cancelAtOnce(open);
  }

  /** The next job of a line, if none is in flight and anything waits. */
  function nextJob(queue: string): FormedJob | undefined {
    const line = lines.get(queue);
    if (line === undefined || line.inFlight !== undefined) return undefined;
    const open = takeOneJob(line.waiting);
    const [first] = open;
    if (first === undefined) {
      lines.delete(queue);
      return undefined;
    }
    const job: FormedJob = { id: randomUUID(), ref: first.ref, open: new Set(open), formedMs: performance.now() };
    for (const waiter of open) waiter.job = job;
    line.inFlight = job;
    return job;
  }

  return {
    add(waiter) {
      const queue = queueName(waiter.ref);
      const line = lines.get(queue) ?? { inFlight: undefined, waiting: [] };
      lines.set(queue, line);
      line.waiting.push(waiter);
      if (line.inFlight === undefined) gates.markDue(waiter.ref.shopId, queue);
    },
    leave(waiter) {
      const { shopId } = waiter.ref;
      const queue = queueName(waiter.ref);
      const line = lines.get(queue);
      if (line === undefined) return;
      if (waiter.job === undefined) {
        line.waiting = line.waiting.filter((other) => other !== waiter);
        return;
      }
      waiter.job.open.delete(waiter);
      if (waiter.job.open.size > 0) return;
      line.inFlight = undefined;
      gates.leave(waiter.job);
      if (line.waiting.length > 0) gates.markDue(shopId, queue);
      else lines.delete(queue);
    },
    holdUp(job) {
      if (job.open.size > 0) gates.holdUp(job);
    },
    inHandMax: (shopId) => gates.inHandMax(shopId),
    sendDue: () => gates.sendDue(),
  };
}

/** Takes the oldest waiters that fit into one job out of the line: always at least one, if there is one. */
function takeOneJob(waiting: Waiter[]): Waiter[] {
  let [count, rows, bytes] = [0, 0, 0];
  for (const waiter of waiting) {
    rows += waiter.weight;
    bytes += waiter.bytes;
    if (count > 0 && (count >= operationsPerJobMax || rows > rowsPerJobMax || bytes > bytesPerJobMax)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/**
 * Divides jobs among transactions (MULTI), each no larger than the largest job and with no more jobs than one shop may
 * have in flight: while one runs, Redis does nothing else.
 */
function batches(jobs: FormedJob[]): FormedJob[][] {
  const cut: FormedJob[][] = [];
  let bytes = Infinity;
  for (const job of jobs) {
    let jobBytes = 0;
    for (const waiter of job.open) jobBytes += waiter.bytes;
    if (bytes + jobBytes > bytesPerJobMax || cut.at(-1)?.length === jobsPerTransactionMax) {
      cut.push([]);
      bytes = 0;
    }
    cut.at(-1)?.push(job);
    bytes += jobBytes;
  }
  return cut;
}

import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { DispatchMetrics } from '../../../api/dispatch/dispatch-metrics.js';
import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import { startFollowUp } from '../../../api/dispatch/follow-up.js';
import type { FollowUp } from '../../../api/dispatch/follow-up.js';
import type { QueueLink } from '../../../api/dispatch/queue-link.js';
import type { FormedJob, Waiter } from '../../../api/dispatch/waiter.js';
import type { Database } from '../../../shared/database/connect.js';
import { createSlotMap } from '../../../shared/runtime/slot-map.js';
import type { SlotMap } from '../../../shared/runtime/slot-map.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { operationOf } from '../../support/shop/shop.js';

export const longMs = 3_600_000;

/** A follow-up of its own for each test, its Redis, and a Postgres that answers what the test says. */
export interface FollowedUp {
  redis: ReturnType<typeof useQueueHarness>;
  waiters: SlotMap<Waiter>;
  outcomes: Map<string, DispatchOutcome>;
  /** What Postgres is asked, and what it answers; by default it has nothing on record. */
  lookUp: (ids: string[]) => Promise<{ rows: unknown[] }>;
  cancel: () => Promise<unknown>;
  cancelAtOnce: FollowUp['cancelAtOnce'];
  /** Jobs that were sent again. */
  sent: FormedJob[];
  /** Jobs that something holds up. */
  heldUp: FormedJob[];
  /** How many operations were reported, by what of them. */
  counted: { lookedUp: number; addedAgain: number; cancelled: number; outcomeUnknown: number };
  /** What was logged. */
  said: string[];
  /** `performance.now`, which a test may replace. */
  now: () => number;
  /** A request whose wait ends in `leftMs`, and whose job was sent, or is still to be. */
  wait: (leftMs?: number, isSent?: boolean) => Waiter;
}

const nothingCounted = { lookedUp: 0, addedAgain: 0, cancelled: 0, outcomeUnknown: 0 };

export function useFollowUp(): FollowedUp {
  const redis = useQueueHarness();
  const now = performance.now.bind(performance);
  let started: FollowUp;
  const followed: FollowedUp = {
    redis,
    waiters: createSlotMap(),
    outcomes: new Map(),
    lookUp: () => Promise.resolve({ rows: [] }),
    cancel: () => Promise.resolve({ outcomes: new Map() }),
    cancelAtOnce: (waiters) => {
      started.cancelAtOnce(waiters);
    },
    sent: [],
    heldUp: [],
    counted: { ...nothingCounted },
    said: [],
    now,
    wait: (leftMs = longMs, isSent = true) => waitIn(followed, leftMs, isSent),
  };
  beforeEach(() => {
    followed.waiters = createSlotMap();
    followed.sent = [];
    followed.heldUp = [];
    followed.counted = { ...nothingCounted };
    followed.said = [];
    followed.outcomes = new Map();
    followed.lookUp = () => Promise.resolve({ rows: [] });
    followed.cancel = () => Promise.resolve({ outcomes: new Map() });
    started = start(followed);
  });
  afterEach(() => {
    started.stop();
    performance.now = now;
  });
  return followed;
}

function start(followed: FollowedUp): FollowUp {
  const { redis, waiters } = followed;
  // A command without values is none of its questions.
  const query = (asked: { values: [string[]] } | string) =>
    typeof asked === 'string' ? Promise.resolve() : followed.lookUp(asked.values[0]);
  const client = { acquireConnection: () => Promise.resolve({ query }), releaseConnection: () => Promise.resolve() };
  const database = { client, transaction: () => followed.cancel() };
  return startFollowUp({
    link: {
      redis: redis.redis,
      queues: redis.queues,
      apiId: 'test',
      enqueuing: { passed: () => undefined, failed: () => undefined },
    } as unknown as QueueLink,
    database: database as unknown as Database,
    logger: pino({}, { write: (line) => void followed.said.push((JSON.parse(line) as { msg: string }).msg) }),
    metrics: metricsOf(followed),
    waiters,
    enqueue: (jobs) => {
      followed.sent.push(...jobs);
      return Promise.resolve('queued');
    },
    answer: (waiter, outcome) => {
      const { operation, job } = waiter;
      waiters.delete(operation.id);
      job?.open.delete(waiter);
      followed.outcomes.set(operation.id, outcome);
    },
    holdUp: (job) => followed.heldUp.push(job),
  });
}

function metricsOf({ counted }: FollowedUp): DispatchMetrics {
  return {
    jobFormed: () => undefined,
    jobAddedAgain: () => (counted.addedAgain += 1),
    lookedUp: (operations) => (counted.lookedUp += operations),
    cancelled: (operations) => (counted.cancelled += operations),
    outcomeUnknown: () => (counted.outcomeUnknown += 1),
  };
}

function waitIn({ waiters, now }: FollowedUp, leftMs: number, isSent: boolean): Waiter {
  const ref = { shopId: 1, materialId: 'VMAT-a' };
  const operation = operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] });
  const job = isSent ? { id: uuidv7(), ref, open: new Set<Waiter>(), formedMs: now() } : undefined;
  const times = { waitEndsMs: performance.now() + leftMs, nextLookUpMs: 0 };
  const more = { weight: 1, bytes: 1, graceEndsMs: undefined, resolve: () => undefined };
  const waiter: Waiter = { ref, operation, job, ...times, ...more };
  waiters.set(operation.id, waiter);
  return waiter;
}

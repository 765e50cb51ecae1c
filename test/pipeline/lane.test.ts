import { expect } from 'chai';
import { pino } from 'pino';
import type { Database } from '../../shared/database/connect.js';
import { keyMemoryMsDefault } from '../../shared/inventory/time-limits.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { startLane } from '../../worker/lane.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { useQueueRoom } from '../support/queue-room.js';
import { operationOf } from '../support/shop.js';
import { until } from '../support/until.js';

/** Longer than a cycle may take; then its lane counts as stuck. */
const stuckMs = 30_000;
const soonMsMax = 15_000;

describe('a lane whose Postgres does not answer', () => {
  const room = useQueueRoom();
  const now = performance.now.bind(performance);
  afterEach(() => (performance.now = now));

  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const leftMs = async () => {
    const [seconds, micros] = await room.redis.time();
    const nowMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
    return Number(await room.redis.zscore(keys.scheduled, queueName(ref))) - nowMs;
  };
  const untilRenewed = async () => {
    await until(async () => (await room.redis.hlen(keys.leases)) === 1, { deadlineMs: soonMsMax, what: 'the take' });
    // Cut short, so that a renewal shows.
    await room.redis.zadd(keys.scheduled, 1, queueName(ref));
    await until(async () => (await leftMs()) > 0, { deadlineMs: soonMsMax, what: 'a renewal' });
  };
  const addJob = () =>
    room.add(ref, { operations: [operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] })] });

  it('renews its leases for as long as a cycle may take, and then leaves them to others', async () => {
    await withLane(async () => {
      await addJob();
      await untilRenewed();
      performance.now = () => now() + stuckMs + 1;
      await until(async () => (await leftMs()) < 0, { deadlineMs: soonMsMax, what: 'the lease to run out' });
      expect(await room.sweep()).to.equal(1);
      expect(await room.ready(ref.shopId)).to.deep.equal([queueName(ref)]);
    });
  });

  it('counts that time from the begin of the cycle, however long it has been there', async () => {
    await withLane(async () => {
      performance.now = () => now() + stuckMs + 1;
      await addJob();
      await untilRenewed();
    });
  });

  /** A lane for which Postgres is silent as long as it is used. */
  async function withLane(use: () => Promise<void>): Promise<void> {
    let fail: (error: Error) => void = () => undefined;
    const silence = new Promise<never>((_, reject) => (fail = reject));
    const database = { client: { acquireConnection: () => silence }, raw: () => Promise.resolve() };
    const deps = {
      redis: room.redis,
      presence: await createWorkerPresence(room.redis),
      database: database as unknown as Database,
      logger: pino({ level: 'silent' }),
      keyMemoryMs: keyMemoryMsDefault,
      metrics: createWorkerMetrics(),
      ledgerWatch: { changed: () => undefined, stop: () => Promise.resolve() },
    };
    const lane = startLane(deps, { wait: () => Promise.resolve(), close: () => undefined });
    try {
      await use();
    } finally {
      lane.stop();
      fail(new Error('Connection terminated'));
      await lane.done;
    }
  }
});

import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { pino } from 'pino';
import { createDispatch } from '../../../api/dispatch/dispatch.js';
import type { DispatchMetrics } from '../../../api/dispatch/dispatch-metrics.js';
import type { Database } from '../../../shared/database/connect.js';
import { encodeReplies, parseOperationsJob } from '../../../shared/queue/job-format.js';
import { replyChannel } from '../../../shared/queue/names.js';
import { runScript } from '../../../shared/queue/run-script.js';
import { answerOfMigrated } from '../../support/redis/lane-deps.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { until } from '../../support/time/until.js';

const [hourMs, nearMs, soonMsMax] = [3_600_000, 60_000, 10_000];

describe('a write that is accepted', () => {
  const harness = useQueueHarness();
  const now = Date.now;
  afterEach(() => {
    Date.now = now;
  });

  /** What the worker would find in the queue; answered as expired, so that nobody waits on. */
  async function takeOne() {
    const taken = await until(async () => (await harness.take())[0]?.jobs[0], {
      deadlineMs: soonMsMax,
      what: 'the job of the write',
    });
    const job = parseOperationsJob(taken.data);
    const replies = job?.operations.map(({ id }): [string, { status: 'expired' }] => [id, { status: 'expired' }]) ?? [];
    await harness.redis.publish(replyChannel(job?.replyTo ?? ''), encodeReplies(replies));
    return job?.operations[0];
  }

  it('is dated by the clock of Redis, by which the worker judges it, whatever that of this machine says', async () => {
    await runScript(harness.redis, 'rmBeat', 'worker', 60_000, '');
    const dispatch = await createDispatch({
      redisUrl: harness.server.url,
      database: { raw: answerOfMigrated } as unknown as Database,
      logger: pino({ level: 'silent' }),
      settings: { WAIT_MS: 60_000, IN_FLIGHT_SHOP_MAX: 10, IN_FLIGHT_MAX: 10 },
      metrics: new Proxy({} as DispatchMetrics, { get: () => () => undefined }),
    });
    Date.now = () => now() - hourMs;
    const command = { kind: 'adjust' as const, rows: [{ locationId: '1', delta: 1 }] };
    const request = { command, channel: 'rest' as const, keyId: null, requestId: uuidv7() };
    const outcome = dispatch.submit({ shopId: 1, materialId: 'VMAT-1' }, request);
    Date.now = now;
    const operation = await takeOne();
    expect(await outcome).to.have.property('status', 'not-applied');
    await dispatch.close();
    expect(Math.abs((operation?.acceptedAtMs ?? 0) - now()), 'it would have expired at once').to.be.below(nearMs);
  });
});

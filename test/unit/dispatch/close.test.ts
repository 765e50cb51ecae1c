import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { createDispatch } from '../../../api/dispatch/dispatch.js';
import type { DispatchMetrics } from '../../../api/dispatch/dispatch-metrics.js';
import type { Database } from '../../../shared/database/connect.js';
import { encodeReplies, parseOperationsJob } from '../../../shared/queue/job-format.js';
import { replyChannel } from '../../../shared/queue/names.js';
import { runScript } from '../../../shared/queue/run-script.js';
import { answerOfMigrated } from '../../support/redis/lane-deps.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;

describe('a dispatch that is closed', () => {
  const harness = useQueueHarness();

  it('refuses what is new, and hears the outcome of what is in flight, though its client may be gone', async () => {
    await runScript(harness.redis, 'rmBeat', 'worker', 60_000, '');
    const dispatch = await createDispatch({
      redisUrl: harness.server.url,
      database: { raw: answerOfMigrated } as unknown as Database,
      logger: pino({ level: 'silent' }),
      settings: { WAIT_MS: 60_000, IN_FLIGHT_SHOP_MAX: 10, IN_FLIGHT_MAX: 10 },
      metrics: new Proxy({} as DispatchMetrics, { get: () => () => undefined }),
    });
    const command = { kind: 'adjust' as const, rows: [{ locationId: '1', delta: 1 }] };
    const submit = () =>
      dispatch.submit(
        { shopId: 1, materialId: 'VMAT-1' },
        { command, channel: 'rest', keyId: null, requestId: uuidv7() },
      );
    const outcome = submit();
    let isClosed = false;
    const closed = dispatch.close().then(() => (isClosed = true));
    expect(await submit()).to.include({ status: 'not-applied', message: 'This process is shutting down.' });
    const job = await until(async () => (await harness.take())[0]?.jobs[0], { deadlineMs: soonMsMax, what: 'the job' });
    await turn();
    expect(isClosed).to.equal(false);
    const { replyTo = '', operations: [operation] = [] } = parseOperationsJob(job.data) ?? {};
    await harness.redis.publish(replyChannel(replyTo), encodeReplies([[operation?.id ?? '', { status: 'failed' }]]));
    expect(await outcome).to.deep.equal({ status: 'failed' });
    await closed;
  });
});

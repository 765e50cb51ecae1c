import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import { encodeReplies, parseOperationsJob } from '../../../shared/queue/job-format.js';
import { replyChannel } from '../../../shared/queue/names.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { until } from '../../support/time/until.js';
import { openDispatch, submitChange } from './open-dispatch.js';

const soonMsMax = 10_000;

describe('a dispatch that is closed', () => {
  const harness = useQueueHarness();

  it('refuses what is new, and hears the outcome of what is in flight, though its client may be gone', async () => {
    const dispatch = await openDispatch(harness);
    const outcome = submitChange(dispatch);
    let isClosed = false;
    const closed = dispatch.close().then(() => (isClosed = true));
    expect(await submitChange(dispatch)).to.include({
      status: 'not-applied',
      message: 'This process is shutting down.',
    });
    const job = await until(async () => (await harness.take())[0]?.jobs[0], { deadlineMs: soonMsMax, what: 'the job' });
    await turn();
    expect(isClosed).to.equal(false);
    const { replyTo = '', operations: [operation] = [] } = parseOperationsJob(job.data) ?? {};
    await harness.redis.publish(replyChannel(replyTo), encodeReplies([[operation?.id ?? '', { status: 'failed' }]]));
    expect(await outcome).to.deep.equal({ status: 'failed' });
    await closed;
  });

  it('looks up what is in flight and hears nothing, until it has the outcome of all', async () => {
    // What another process has cancelled; a command without values is no look-up.
    const query = (asked: { values: [string[]] } | string) => {
      const ids = typeof asked === 'string' ? [] : asked.values[0];
      return Promise.resolve({ rows: ids.map((id) => ({ op_id: id, status: 'cancelled', result: null })) });
    };
    const client = { acquireConnection: () => Promise.resolve({ query }), releaseConnection: () => Promise.resolve() };
    const dispatch = await openDispatch(harness, { client });
    let outcome: DispatchOutcome | undefined;
    void submitChange(dispatch).then((found) => (outcome = found));
    const closed = dispatch.close();
    await until(() => outcome, { deadlineMs: soonMsMax, what: 'the outcome' });
    expect(outcome).to.have.property('status', 'not-applied');
    await closed;
  });
});

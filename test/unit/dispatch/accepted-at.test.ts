import { expect } from 'chai';
import { encodeReplies, parseOperationsJob } from '../../../shared/queue/job-format.js';
import { replyChannel } from '../../../shared/queue/names.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { until } from '../../support/time/until.js';
import { openDispatch, submitChange } from './open-dispatch.js';

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
    const dispatch = await openDispatch(harness);
    Date.now = () => now() - hourMs;
    const outcome = submitChange(dispatch);
    Date.now = now;
    const operation = await takeOne();
    expect(await outcome).to.have.property('status', 'not-applied');
    await dispatch.close();
    expect(Math.abs((operation?.acceptedAtMs ?? 0) - now()), 'it would have expired at once').to.be.below(nearMs);
  });
});

import { expect } from 'chai';
import type { Dispatch } from '../../../api/dispatch/dispatch.js';
import type { OperationOutcome, OperationResult } from '../../../shared/domain/operation.js';
import { encodeReplies, parseOperationsJob } from '../../../shared/queue/job-format.js';
import { replyChannel } from '../../../shared/queue/names.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { until } from '../../support/time/until.js';
import { openDispatch, submitChange } from './open-dispatch.js';

const [inFlightMax, soonMsMax] = [2, 10_000];
const result: OperationResult = { kind: 'adjusted', rowCount: 1, failures: [] };

describe('a write whose reply and whose look-up find it at once', () => {
  const harness = useQueueHarness();
  let dispatch: Dispatch;

  // Also ends what a failed test has left open, or the process would wait for it.
  afterEach(async () => {
    await reply();
    await dispatch.close();
  });

  const submit = (materialId: string) => submitChange(dispatch, materialId);
  /** As a worker does: takes what is ready, and replies to each operation that it was executed. */
  async function reply(): Promise<number> {
    const jobs = (await harness.take()).flatMap((held) =>
      held.jobs.flatMap(({ data }) => parseOperationsJob(data) ?? []),
    );
    for (const { replyTo, operations } of jobs) {
      const replies = operations.map(({ id }): [string, OperationOutcome] => [
        id,
        { status: 'executed', result, replayed: false },
      ]);
      await harness.redis.publish(replyChannel(replyTo), encodeReplies(replies));
    }
    return jobs.length;
  }

  it('leaves what is in flight once: the bound holds after it', async () => {
    let hasBoth = false;
    // The look-up has found it in Postgres, but the reply arrives before its answer does.
    const query = async (asked: { text: string; values: [ids: string[]] }) => {
      expect(asked.text).to.include('FROM operations');
      await reply();
      await until(() => dispatch.state().writesInFlight === 0, { deadlineMs: soonMsMax, what: 'the reply' });
      hasBoth = true;
      const [ids] = asked.values;
      return { rows: ids.map((id) => ({ op_id: id, status: 'executed', result: JSON.stringify(result) })) };
    };
    const client = { acquireConnection: () => Promise.resolve({ query }), releaseConnection: () => Promise.resolve() };
    dispatch = await openDispatch(harness, {
      client,
      settings: { IN_FLIGHT_SHOP_MAX: 1_000, IN_FLIGHT_MAX: inFlightMax },
    });
    expect(await submit('VMAT-1')).to.have.property('status', 'executed');
    await until(() => hasBoth, { deadlineMs: soonMsMax, what: 'the look-up' });

    const taken = Array.from({ length: inFlightMax }, () => submit('VMAT-2'));
    const [one, more] = [await submit('VMAT-2'), dispatch.state().writesInFlight];
    expect(one).to.deep.include({ status: 'not-applied', message: 'Too many writes are in flight.' });
    expect(more).to.equal(inFlightMax);
    await until(async () => (await reply()) > 0, { deadlineMs: soonMsMax, what: 'the job of the others' });
    for (const outcome of await Promise.all(taken)) expect(outcome).to.have.property('status', 'executed');
  });
});

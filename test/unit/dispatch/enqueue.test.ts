import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { enqueueJobs } from '../../../api/dispatch/enqueue.js';
import type { QueueLink } from '../../../api/dispatch/queue-link.js';
import type { FormedJob, Waiter } from '../../../api/dispatch/waiter.js';
import { parseOperationsJob } from '../../../shared/queue/job-format.js';
import { createTransaction } from '../../../shared/redis/batch.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';
import { operationOf } from '../../support/shop/shop.js';

function jobOf(materialId: string): FormedJob {
  const ref = { shopId: 1, materialId };
  const operation = operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] });
  return { id: uuidv7(), ref, open: new Set([{ ref, operation } as Waiter]), formedMs: 0 };
}

describe('an enqueue', () => {
  const harness = useQueueHarness();
  /** What its link was told, once for each enqueue; undefined if it passed. */
  let told: unknown[];
  const enqueuing = { passed: () => told.push(undefined), failed: (error: unknown) => told.push(error) };
  beforeEach(() => (told = []));

  /** The link of an API process; its transaction is ended as `exec` says. */
  const link = (exec?: (send: () => Promise<unknown>) => Promise<unknown>, status?: string): QueueLink => {
    const { redis, queues } = harness;
    const transaction = () => {
      const real = createTransaction(redis);
      return exec === undefined ? real : { ...real, exec: () => exec(real.exec) };
    };
    const connection: unknown = status === undefined ? redis : Object.create(redis, { status: { value: status } });
    return { redis: connection, queues, transaction, apiId: 'test', enqueuing } as unknown as QueueLink;
  };

  it('adds all of its jobs, and announces the material of each', async () => {
    const jobs = ['VMAT-a', 'VMAT-b', 'VMAT-c'].map(jobOf);
    expect(await enqueueJobs(link(), jobs, undefined)).to.equal('queued');
    expect(told).to.deep.equal([undefined]);
    const taken = await harness.take();
    expect(taken.flatMap((held) => held.jobs.map(({ id }) => id))).to.have.members(jobs.map(({ id }) => id));
  });

  it('says for which database they are, where that is known', async () => {
    for (const [materialId, database] of [
      ['VMAT-a', '7.5'],
      ['VMAT-b', undefined],
    ] as const) {
      await enqueueJobs(link(), [jobOf(materialId)], database);
      const jobs = (await harness.take()).flatMap((held) => held.jobs);
      expect(jobs.map(({ data }) => parseOperationsJob(data)?.database)).to.deep.equal([database]);
    }
  });

  it('again for the same job changes nothing', async () => {
    const job = jobOf('VMAT-a');
    for (let time = 0; time < 2; time += 1) expect(await enqueueJobs(link(), [job], undefined)).to.equal('queued');
    expect(await harness.jobs(job.ref, 'wait')).to.deep.equal([job.id]);
  });

  // Whoever is told "not applied" sends the change again: one that stands in the queue would be applied twice.
  const uncertain: { title: string; exec: (send: () => Promise<unknown>) => Promise<unknown> }[] = [
    {
      title: 'the connection broke before the answer',
      exec: (send) => send().then(() => Promise.reject(new Error('Connection is closed.'))),
    },
    {
      title: 'a command of the transaction failed',
      exec: (send) => send().then((answers) => [...(answers as unknown[]), [new Error('OOM'), null]]),
    },
  ];
  for (const { title, exec } of uncertain) {
    it(`is uncertain where ${title}: the job may stand in its queue, as it does here`, async () => {
      const job = jobOf('VMAT-a');
      expect(await enqueueJobs(link(exec), [job], undefined)).to.equal('uncertain');
      expect(await harness.jobs(job.ref, 'wait')).to.deep.equal([job.id]);
    });
  }

  it('tells what Redis has against it, also against a command before the transaction is run', async () => {
    const setRights = (rule: string) => harness.redis.call('ACL', 'SETUSER', 'default', rule);
    try {
      await setRights('-evalsha');
      expect(await enqueueJobs(link(), [jobOf('VMAT-a')], undefined)).to.equal('uncertain');
      await setRights('+evalsha');
      await setRights('-zadd');
      expect(await enqueueJobs(link(), [jobOf('VMAT-a')], undefined)).to.equal('uncertain');
    } finally {
      await setRights('+@all');
    }
    expect(told.map(String)).to.have.length(2);
    for (const error of told) expect(String(error)).to.match(/NOPERM|can't run this command/);
  });

  it('over a connection that is away is certain not to have happened', async () => {
    const job = jobOf('VMAT-a');
    expect(await enqueueJobs(link(undefined, 'reconnecting'), [job], undefined)).to.equal('not-queued');
    expect(await harness.jobs(job.ref, 'wait')).to.deep.equal([]);
  });
});

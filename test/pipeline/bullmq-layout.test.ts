import { createRedisBackend, Queue, Worker } from 'bullmq';
import { expect } from 'chai';
import { operationsJob } from '../../shared/queue/job-format.js';
import { queueName, queuePrefix } from '../../shared/queue/names.js';
import { createTransaction } from '../../shared/redis/batch.js';
import { outlivingBytes } from '../support/memory/outliving.js';
import { useQueueHarness, workedOff } from '../support/redis/queue-harness.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';

/** What `shared/queue` leans on inside BullMQ. A new version that moves any of it must fail here first. */
describe('the layout of BullMQ', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 7, materialId: 'VMAT-VAR-1' };
  const base = `${queuePrefix}:7.VMAT-VAR-1`;

  const keysNow = async () => (await harness.redis.keys('*')).sort();
  const takeOne = async () => {
    const [held] = await harness.take();
    if (held === undefined) throw new Error('nothing was ready');
    return held;
  };

  it('creates nothing in Redis for a queue that is only addressed', async () => {
    harness.queues.addIn(createTransaction(harness.redis), ref, 'job-a', operationsJob('test', []));
    await harness.redis.ping();
    expect(await keysNow()).to.deep.equal([]);
  });

  it('adds a job in a transaction as a hash and an entry of wait, beside the keys that the release deletes', async () => {
    await harness.add(ref, { id: 'job-a', isAnnounced: false });
    expect(await keysNow()).to.deep.equal(
      [`${base}:events`, `${base}:id`, `${base}:job-a`, `${base}:marker`, `${base}:meta`, `${base}:wait`].sort(),
    );
    expect(await harness.redis.hget(`${base}:job-a`, 'data')).to.equal(JSON.stringify(operationsJob('test', [])));
    expect(await harness.redis.lrange(`${base}:wait`, 0, -1)).to.deep.equal(['job-a']);
  });

  it('adds a job as the queue of the material would add it by itself', async () => {
    const queue = new Queue(queueName(ref), {
      connection: { url: harness.server.url },
      prefix: queuePrefix,
      skipMetasUpdate: true,
    });
    const hashOf = async (id: string) => {
      const { timestamp, opts = '', ...rest } = await harness.redis.hgetall(`${base}:${id}`);
      // The id is an option of `add`, and stays one.
      const { jobId: _, ...options } = JSON.parse(opts) as Record<string, unknown>;
      return { isTimed: Number(timestamp) > 0, options, ...rest };
    };
    try {
      const data = operationsJob('test', []);
      await queue.add('operations', data, { jobId: 'theirs', removeOnComplete: true, removeOnFail: true });
      const keysOfTheirs = (await keysNow()).filter((key) => !key.endsWith(':theirs'));
      await harness.add(ref, { id: 'ours', isAnnounced: false });
      expect((await keysNow()).filter((key) => !/:(ours|theirs)$/.test(key))).to.deep.equal(keysOfTheirs);
      expect(await hashOf('ours')).to.deep.equal(await hashOf('theirs'));
      expect(await harness.jobs(ref, 'wait')).to.deep.equal(['theirs', 'ours']);
    } finally {
      await queue.close();
    }
  });

  it('adds nothing before EXEC', async () => {
    const transaction = createTransaction(harness.redis);
    harness.queues.addIn(transaction, ref, 'job-a', operationsJob('test', []));
    await harness.redis.ping();
    expect(await keysNow()).to.deep.equal([]);
    expect(await transaction.exec(), 'the one script, and its answer').to.deep.equal([[null, 'job-a']]);
    expect(await keysNow()).to.not.deep.equal([]);
  });

  it('takes the same id twice as one job, which keeps its data', async () => {
    await harness.add(ref, { id: 'job-a', isAnnounced: false });
    await harness.add(ref, { id: 'job-a', job: operationsJob('another', []), isAnnounced: false });
    expect(await harness.jobs(ref, 'wait')).to.deep.equal(['job-a']);
    await harness.announce(ref);
    expect(JSON.parse((await takeOne()).jobs[0]?.data ?? '')).to.deep.equal(operationsJob('test', []));
    // Also while it is active.
    await harness.add(ref, { id: 'job-a', isAnnounced: false });
    expect(await harness.jobs(ref, 'wait')).to.deep.equal([]);
  });

  it('puts new jobs where the oldest is taken last, and keeps those that are handed out as BullMQ does', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `job-${String(index)}`);
    for (const id of ids) await harness.add(ref, { id });
    const [first = ''] = ids;
    // BullMQ's own fetch and ours take the same job, leave it in the same place, and count the delivery in the same
    // field.
    const theirs = await fetchAsBullmq();
    expect(theirs).to.deep.equal([first, 1]);
    expect(await harness.redis.lrange(`${base}:active`, 0, -1)).to.deep.equal([first]);
    expect(await harness.redis.hget(`${base}:${first}`, 'ats')).to.equal('1');
    const held = await takeOne();
    expect(held.jobs.map(({ id }) => id)).to.deep.equal(ids);
    expect(held.jobs.map(({ deliveries }) => deliveries).slice(0, 2)).to.deep.equal([2, 1]);
    expect(await harness.redis.lrange(`${base}:active`, 0, -1), 'active holds the newest first').to.deep.equal(
      ids.toReversed(),
    );
  });

  it('is read by BullMQ itself: its counts tell what waits and what is in hand', async () => {
    const queue = new Queue(queueName(ref), { connection: { url: harness.server.url }, prefix: queuePrefix });
    try {
      for (const id of ['job-a', 'job-b']) await harness.add(ref, { id });
      expect(await queue.getJobCounts('wait', 'active')).to.deep.equal({ wait: 2, active: 0 });
      const held = await takeOne();
      expect(await queue.getJobCounts('wait', 'active')).to.deep.equal({ wait: 0, active: 2 });
      expect((await queue.getActive()).map(({ id, attemptsStarted }) => [id, attemptsStarted])).to.have.deep.members([
        ['job-a', 1],
        ['job-b', 1],
      ]);
      await harness.advance([workedOff(held)]);
      expect(await queue.getJobCounts('wait', 'active')).to.deep.equal({ wait: 0, active: 0 });
    } finally {
      await queue.close();
    }
  });

  it('leaves of an idle material exactly the keys that the release deletes', async () => {
    for (const id of ['job-a', 'job-b']) await harness.add(ref, { id });
    await harness.advance([workedOff(await takeOne())]);
    expect(await pipelineKeys(harness.server.url)).to.deep.equal([]);
  });

  it('puts nothing of the work into its event stream', async () => {
    await harness.add(ref, { id: 'job-a', job: operationsJob('secret', []) });
    const held = await takeOne();
    await harness.add(ref, { id: 'job-b', job: operationsJob('secret', []) });
    await harness.advance([workedOff(held)], 1);
    expect(JSON.stringify(await harness.redis.xrange(`${base}:events`, '-', '+'))).to.not.contain('secret');
  });

  it('opens no connection for a queue', async () => {
    const clients = async () => String(await harness.redis.client('LIST')).match(/ name=raw-materials/g)?.length;
    for (let index = 0; index < 200; index += 1) {
      await harness.add({ shopId: 7, materialId: `VMAT-VAR-${String(index)}` });
      await harness.take();
    }
    expect(await clients()).to.equal(1);
    expect(harness.redis.listenerCount('error')).to.be.below(5);
  });

  describe('once a job is added', () => {
    const times = 400;
    const refOf = (index: number) => ({ shopId: 7, materialId: `VMAT-VAR-${String(index)}` });
    let added = 0;

    it('keeps next to nothing, though every job is of another material', async () => {
      const seen = await outlivingBytes(times, () => {
        added += 1;
        harness.queues.addIn({ add: () => undefined }, refOf(added), 'job', operationsJob('test', []));
      });
      expect(seen).to.be.below(1_000);
    });

    it('is not as with an object for each queue: that keeps all until a full collection', async () => {
      const options = { connection: harness.redis, prefix: queuePrefix, skipMetasUpdate: true };
      const root = createRedisBackend('root', options);
      await root.client;
      const seen = await outlivingBytes(times, () => {
        added += 1;
        const name = queueName(refOf(added));
        return new Queue(name, options, () => root.forQueue(name, queuePrefix));
      });
      expect(seen, 'if this fails, BullMQ has mended it, and its objects will do').to.be.above(3_000);
    });
  });

  async function fetchAsBullmq(): Promise<[id: string | undefined, deliveries: number | undefined]> {
    const worker = new Worker(queueName(ref), null, {
      connection: { url: harness.server.url },
      prefix: queuePrefix,
      skipStalledCheck: true,
    });
    try {
      const { id, attemptsStarted } = await worker.getNextJob('token', { block: false });
      return [id, attemptsStarted];
    } finally {
      await worker.close(true);
    }
  }
});

import { expect } from 'chai';
import { operationsJob } from '../../shared/queue/job-format.js';
import { queueName, queuePrefix } from '../../shared/queue/names.js';
import { releaseIdleOn, takeMaterials } from '../../shared/queue/leases.js';
import { openQueueRoom } from '../support/queue-room.js';
import type { QueueRoom } from '../support/queue-room.js';
import { pipelineKeys } from '../support/redis-keys.js';
import { startTestRedis } from '../support/servers.js';
import type { TestRedis } from '../support/servers.js';

/** What `shared/queue` leans on inside BullMQ. A new version that moves any of it must fail here first. */
describe('the layout of BullMQ', () => {
  let server: TestRedis;
  let room: QueueRoom;
  const ref = { shopId: 7, materialId: 'VMAT-VAR-1' };
  const base = `${queuePrefix}:7.VMAT-VAR-1`;
  const token = 'token';

  before(async () => {
    server = await startTestRedis();
    room = await openQueueRoom(server.url);
  });
  after(async () => {
    room.close();
    await server.stop();
  });
  beforeEach(() => server.flush());

  const keysNow = async () => (await room.redis.keys('*')).sort();
  const fetchOne = () => room.fetch(queueName(ref), token);
  const finish = (id: string, lock: string) => room.finish(queueName(ref), id, lock);

  it('creates nothing in Redis for a queue that is only addressed', async () => {
    expect(await fetchOne()).to.equal(undefined);
    expect(await keysNow()).to.deep.equal([]);
  });

  it('adds a job in a transaction as a hash and an entry of wait, beside the keys that the release deletes', async () => {
    await room.add(ref, { id: 'job-a', isAnnounced: false });
    expect(await keysNow()).to.deep.equal(
      [`${base}:events`, `${base}:id`, `${base}:job-a`, `${base}:marker`, `${base}:meta`, `${base}:wait`].sort(),
    );
    expect(await room.redis.hget(`${base}:job-a`, 'data')).to.equal(JSON.stringify(operationsJob('test', [])));
    expect(await room.redis.lrange(`${base}:wait`, 0, -1)).to.deep.equal(['job-a']);
  });

  it('adds nothing before EXEC', async () => {
    const transaction = room.queues.transaction();
    room.queues.addTo(transaction, ref, 'job-a', operationsJob('test', []));
    await room.redis.ping();
    expect(await keysNow()).to.deep.equal([]);
    expect(transaction.length, 'MULTI and the one script').to.equal(2);
  });

  it('takes the same id twice as one job, which keeps its data', async () => {
    await room.add(ref, { id: 'job-a', isAnnounced: false });
    await room.add(ref, { id: 'job-a', job: operationsJob('another', []), isAnnounced: false });
    expect(await room.jobs(ref, 'wait')).to.deep.equal(['job-a']);
    expect(JSON.parse((await fetchOne())?.data ?? '')).to.deep.equal(operationsJob('test', []));
    // Also while it is active.
    await room.add(ref, { id: 'job-a', isAnnounced: false });
    expect(await room.jobs(ref, 'wait')).to.deep.equal([]);
  });

  it('hands out jobs in the order in which they were added, and counts the deliveries', async () => {
    for (const id of ['a', 'b', 'c']) await room.add(ref, { id: `job-${id}`, isAnnounced: false });
    const fetched = [await fetchOne(), await fetchOne(), await fetchOne(), await fetchOne()];
    expect(fetched.map((job) => job && [job.id, job.deliveries])).to.deep.equal([
      ['job-a', 1],
      ['job-b', 1],
      ['job-c', 1],
      undefined,
    ]);
    expect(await room.redis.lrange(`${base}:active`, 0, -1), 'active holds the newest first').to.deep.equal([
      'job-c',
      'job-b',
      'job-a',
    ]);
  });

  it('keeps the order and the count also where the fetches are pipelined', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `job-${String(index)}`);
    for (const id of ids) await room.add(ref, { id, isAnnounced: false });
    const fetched = await room.queues.fetch(ids.map(() => ({ queue: queueName(ref), token })));
    expect(fetched.map((job) => job?.id)).to.deep.equal(ids);
  });

  it('locks a fetched job with the token, for longer than any lease', async () => {
    await room.add(ref, { id: 'job-a', isAnnounced: false });
    await fetchOne();
    expect(await room.redis.get(`${base}:job-a:lock`)).to.equal(token);
    expect(await room.redis.pttl(`${base}:job-a:lock`)).to.be.within(50_000, 60_000);
  });

  it('completes a job only under its lock, and then leaves neither hash nor lock nor an entry of active', async () => {
    await room.add(ref, { id: 'job-a', isAnnounced: false });
    await fetchOne();
    expect(await finish('job-a', 'another token')).to.equal(-6);
    expect(await room.jobs(ref, 'active')).to.deep.equal(['job-a']);
    await room.redis.del(`${base}:job-a:lock`);
    expect(await finish('job-a', token), 'a lock that ran out').to.equal(-2);
    expect(await room.jobs(ref, 'active')).to.deep.equal(['job-a']);
    await room.redis.set(`${base}:job-a:lock`, token);
    expect(await finish('job-a', token)).to.equal(0);
    expect(await keysNow()).to.deep.equal([`${base}:events`, `${base}:id`, `${base}:marker`, `${base}:meta`].sort());
    expect(await finish('job-a', token), 'a job that is gone').to.equal(-1);
  });

  it('leaves of an idle material exactly the keys that the release deletes', async () => {
    for (const id of ['job-a', 'job-b']) await room.add(ref, { id });
    const held = await takeMaterials(room.redis, 1);
    const [lease = ''] = held.materials.map((material) => material.token);
    for (const id of ['job-a', 'job-b']) {
      await room.fetch(queueName(ref), lease);
      expect(await finish(id, lease)).to.equal(0);
    }
    const pipeline = room.queues.pipeline();
    releaseIdleOn(pipeline, held.materials);
    await pipeline.exec();
    expect(await pipelineKeys(server.url)).to.deep.equal([]);
  });

  it('puts nothing of the work into its event stream', async () => {
    await room.add(ref, { id: 'job-a', job: operationsJob('secret', []), isAnnounced: false });
    await fetchOne();
    await finish('job-a', token);
    expect(JSON.stringify(await room.redis.xrange(`${base}:events`, '-', '+'))).to.not.contain('secret');
  });

  it('opens no connection for a queue', async () => {
    const clients = async () => String(await room.redis.client('LIST')).match(/ name=raw-materials/g)?.length;
    for (let index = 0; index < 200; index += 1) {
      await room.add({ shopId: 7, materialId: `VMAT-VAR-${String(index)}` }, { isAnnounced: false });
      await room.fetch(`7.VMAT-VAR-${String(index)}`, token);
    }
    expect(await clients()).to.equal(1);
    expect(room.redis.listenerCount('error')).to.be.below(5);
  });
});

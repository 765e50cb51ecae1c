import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { takeMaterials } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { tellRefusal } from '../../shared/queue/refusal.js';
import { defineScripts, runScript } from '../../shared/queue/run-script.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import type { WorkerPresence } from '../../shared/queue/worker-presence.js';
import { connectWorkerRedis, untilReady } from '../../shared/redis/connections.js';
import { patientMs, useQueueHarness, workedOff } from '../support/redis/queue-harness.js';
import { until } from '../support/time/until.js';

interface Worker {
  redis: Redis;
  presence: WorkerPresence;
  takeAll(): Promise<string[]>;
}

interface StartOptions {
  url?: string;
  /** The one that it writes to, or, where that changes, which one it is now. */
  database?: string | (() => string);
}

describe('the presence of workers', () => {
  const harness = useQueueHarness();
  const workers: Worker[] = [];
  const a = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const b = { shopId: 2, materialId: 'VMAT-VAR-b' };

  afterEach(() => {
    for (const { redis } of workers.splice(0)) redis.disconnect();
  });

  async function startWorker({ url = harness.server.url, database }: StartOptions = {}): Promise<Worker> {
    const redis = connectWorkerRedis(url, () => undefined, patientMs);
    await untilReady(redis);
    defineScripts(redis);
    const presence = await createWorkerPresence(redis, typeof database === 'function' ? database : () => database);
    const worker = {
      redis,
      presence,
      takeAll: async () => (await takeMaterials(redis, presence, 32)).materials.map(({ queue }) => queue),
    };
    workers.push(worker);
    return worker;
  }
  const idOf = async ({ redis }: Worker) => String(await redis.client('ID'));
  const listed = () => harness.redis.zrange(keys.workers, '0', '-1');
  const leased = async () => Object.keys(await harness.redis.hgetall(keys.leases));

  /** As a kill does: without a word. */
  async function kill(worker: Worker): Promise<string> {
    const id = await idOf(worker);
    worker.redis.disconnect();
    await until(async () => String(await harness.redis.client('LIST', 'ID', id)) === '', {
      deadlineMs: 10_000,
      what: 'Redis to see the end of the connection',
    });
    return id;
  }

  it('is listed under the number of its connection, from its start until it leaves', async () => {
    const one = await startWorker();
    const two = await startWorker();
    expect(await listed()).to.have.members([await idOf(one), await idOf(two)]);
    await two.presence.leave();
    expect(await listed()).to.deep.equal([await idOf(one)]);
  });

  it('frees as it leaves what was taken for it, and no other lease', async () => {
    const one = await startWorker();
    const two = await startWorker();
    await harness.add(a);
    await one.takeAll();
    await harness.add(b);
    await two.takeAll();
    await harness.redis.del(keys.wake);
    await two.presence.leave();
    expect(await leased()).to.deep.equal([queueName(a)]);
    expect(await harness.ready(b.shopId)).to.deep.equal([queueName(b)]);
    expect(await harness.redis.llen(keys.wake)).to.equal(1);
  });

  it('of those whose beats have run out, and that of their database, is off the list with the next beat', async () => {
    await harness.redis.zadd(keys.workers, 1, 'killed');
    await harness.redis.zadd(keys.databases, 1, 'theirs');
    await runScript(harness.redis, 'rmBeat', 'alive', 60_000, 'ours');
    expect(await harness.redis.zrange(keys.workers, '0', '-1')).to.deep.equal(['alive']);
    expect(await harness.redis.zrange(keys.databases, '0', '-1')).to.deep.equal(['ours']);
  });

  it('of those that died with a Redis whose clock was ahead counts for nothing, and shuts nobody out', async () => {
    const hourAhead = Date.now() + 3_600_000;
    await harness.redis.zadd(keys.workers, hourAhead, 'killed');
    await harness.redis.zadd(keys.databases, hourAhead, 'theirs');
    const status = async () => (await runScript(harness.redis, 'rmStatus', 3_000, 'ours')) as unknown[];
    const [, liveWorkers, , , otherDatabase] = await status();
    expect({ liveWorkers, otherDatabase }).to.deep.equal({ liveWorkers: 0, otherDatabase: '' });
    expect(await runScript(harness.redis, 'rmBeat', 'alive', 60_000, 'ours')).to.equal('');
    expect(await harness.redis.zrange(keys.workers, '0', '-1')).to.deep.equal(['alive']);
    expect(await harness.redis.zrange(keys.databases, '0', '-1')).to.deep.equal(['ours']);
  });

  it('is refused by Postgres only as long as that lasts, also where the clock of Redis has gone back', async () => {
    const refusal = async () => ((await runScript(harness.redis, 'rmStatus', 3_000, 'ours')) as unknown[])[5];
    await tellRefusal(harness.redis, 'No space left on device');
    expect(await refusal()).to.equal('No space left on device');
    await harness.redis.pexpire(keys.refusal, 3_600_000);
    expect(await refusal()).to.equal('');
  });

  it('ends for good also where a beat was under way, and with every beat after it', async () => {
    const { presence } = await startWorker();
    const beating = presence.beat();
    await Promise.all([presence.leave(), beating]);
    expect(await listed()).to.deep.equal([]);
    await presence.beat();
    expect(await listed()).to.deep.equal([]);
  });

  it('ends with the connection: another makes ready at once what was held, and takes it with its jobs', async () => {
    const gone = await startWorker();
    const stays = await startWorker();
    const jobs = [await harness.add(a), await harness.add(a)];
    await harness.add(b);
    expect(await gone.takeAll()).to.have.members([queueName(a), queueName(b)]);
    await kill(gone);
    await harness.redis.del(keys.wake);
    await stays.presence.buryGone();
    expect(await listed()).to.deep.equal([await idOf(stays)]);
    expect(await leased()).to.deep.equal([]);
    expect(await harness.redis.llen(keys.wake)).to.equal(1);
    expect(await stays.takeAll()).to.have.members([queueName(a), queueName(b)]);
    expect(await harness.jobs(a, 'active')).to.deep.equal(jobs);
  });

  it('is left alone, with its leases, while its connection stands, whoever else is gone', async () => {
    const gone = await startWorker();
    const stays = await startWorker();
    await harness.add(a);
    await stays.takeAll();
    await harness.add(b);
    await gone.takeAll();
    await kill(gone);
    await stays.presence.buryGone();
    expect(await leased()).to.deep.equal([queueName(a)]);
    expect(await harness.ready(b.shopId)).to.deep.equal([queueName(b)]);
    await stays.presence.buryGone();
    expect(await leased()).to.deep.equal([queueName(a)]);
  });

  it('does not give what one takes afterwards to the one who is gone, and lets that one finish nothing', async () => {
    const gone = await startWorker();
    const stays = await startWorker();
    const id = await harness.add(a);
    const { materials } = await takeMaterials(gone.redis, gone.presence, 32);
    await kill(gone);
    await stays.presence.buryGone();
    await stays.takeAll();
    await stays.presence.buryGone();
    const [zombie] = materials;
    if (zombie === undefined) throw new Error('nothing was taken');
    expect(await harness.advance([workedOff(zombie)])).to.include({ lost: 1 });
    expect(await harness.jobs(a, 'active')).to.deep.equal([id]);
  });

  it('comes back with its connection, at once, under the new number', async () => {
    const worker = await startWorker();
    const before = await idOf(worker);
    // It stays on the list, however long it takes until the next beat.
    await harness.redis.zincrby(keys.workers, 50_000, before);
    await harness.redis.persist(keys.workers);
    await harness.redis.client('KILL', 'ID', before);
    await until(async () => (await listed()).length === 2, { deadlineMs: 10_000, what: 'the next beat' });
    const after = await idOf(worker);
    expect(after).to.not.equal(before);
    expect(await listed()).to.have.members([before, after]);
    expect(worker.presence.newToken()).to.match(new RegExp(`^${after}\\.`));
    await worker.presence.buryGone();
    expect(await listed()).to.deep.equal([after]);
  });

  it('without a connection takes under nobody: such a lease only runs out', async () => {
    const worker = await startWorker();
    await harness.server.kill();
    await until(() => worker.redis.status !== 'ready', { deadlineMs: 10_000, what: 'the connection to be lost' });
    expect(worker.presence.newToken()).to.match(/^\./);
    await harness.server.restart();
    await until(() => /^\d+\./.test(worker.presence.newToken()), { deadlineMs: 10_000, what: 'the connection' });
  });

  it('of a user that may not list connections is told like any other; it only finds nobody gone', async () => {
    await harness.redis.acl('SETUSER', 'narrow', 'on', '>narrow', '~*', '&*', '+@all', '-client|list');
    const url = Object.assign(new URL(harness.server.url), { username: 'narrow', password: 'narrow' });
    const worker = await startWorker({ url: url.href });
    expect(await listed()).to.deep.equal([await idOf(worker)]);
    await harness.add(a);
    expect(await worker.takeAll()).to.deep.equal([queueName(a)]);
    const refusal = await worker.presence.buryGone().catch((error: unknown) => error);
    expect(String(refusal)).to.match(/NOPERM/);
  });

  describe('of another database than that of those who are alive', () => {
    const isShutOut = ({ presence }: Worker) => {
      try {
        presence.assertServes();
        return false;
      } catch (error) {
        expect(String(error)).to.match(/workers of another database are alive on this Redis/);
        return true;
      }
    };

    it('is none, from the start on, until the last of those has left', async () => {
      const first = await startWorker({ database: 'ours' });
      const other = await startWorker({ database: 'theirs' });
      const second = await startWorker({ database: 'ours' });
      expect([first, other, second].map(isShutOut)).to.deep.equal([false, true, false]);
      for (const { presence } of [first, second]) await presence.beat();
      expect(await listed()).to.have.members([await idOf(first), await idOf(second)]);
      await first.presence.leave();
      await other.presence.beat();
      expect(isShutOut(other)).to.equal(true);
      await second.presence.leave();
      await other.presence.beat();
      expect(isShutOut(other)).to.equal(false);
      expect(await listed()).to.deep.equal([await idOf(other)]);
    });

    it('is none until the beats of those who were killed have run out; then these are shut out', async () => {
      const first = await startWorker({ database: 'ours' });
      const other = await startWorker({ database: 'theirs' });
      expect(await harness.redis.pttl(keys.databases), 'nobody has to take it away').to.be.within(1, 3_000);
      await harness.redis.zadd(keys.databases, 1, 'ours');
      await other.presence.beat();
      await first.presence.beat();
      expect([first, other].map(isShutOut)).to.deep.equal([true, false]);
      expect(await listed()).to.deep.equal([await idOf(other)]);
    });

    describe('after theirs was restored, and so is another one', () => {
      const databases = () => harness.redis.zrange(keys.databases, '0', '-1');
      /** As if it had beaten a millisecond later than the others. */
      const later = async (worker: Worker) => {
        await harness.redis.zincrby(keys.workers, 1, await idOf(worker));
        await harness.redis.zincrby(keys.databases, 1, 'former');
      };

      it('is not shut out by what it said itself of the former one', async () => {
        let database = 'former';
        const worker = await startWorker({ database: () => database });
        await worker.presence.beat();
        database = 'restored';
        await worker.presence.beat();
        expect(isShutOut(worker)).to.equal(false);
        expect(await databases()).to.deep.equal(['restored']);
        expect(await listed()).to.deep.equal([await idOf(worker)]);
      });

      it('is until the others have seen it too: the last who named the former one takes it back', async () => {
        let [oneDatabase, twoDatabase] = ['former', 'former'];
        const one = await startWorker({ database: () => oneDatabase });
        const two = await startWorker({ database: () => twoDatabase });
        await later(two);
        oneDatabase = 'restored';
        await one.presence.beat();
        expect([one, two].map(isShutOut)).to.deep.equal([true, false]);
        expect(await databases()).to.deep.equal(['former']);
        twoDatabase = 'restored';
        await two.presence.beat();
        await one.presence.beat();
        expect([one, two].map(isShutOut)).to.deep.equal([false, false]);
        expect(await databases()).to.deep.equal(['restored']);
        expect(await listed()).to.have.members([await idOf(one), await idOf(two)]);
      });
    });

    it('is not told where a role may not ask which database it is: such a worker is like any other', async () => {
      const known = await startWorker({ database: 'ours' });
      const unknown = await startWorker();
      expect([known, unknown].map(isShutOut)).to.deep.equal([false, false]);
      expect(await listed()).to.have.members([await idOf(known), await idOf(unknown)]);
    });
  });

  it('where Redis does not show it its own connection, as a proxy may not, buries nobody', async () => {
    const worker = await startWorker();
    await harness.add(a);
    await worker.takeAll();
    const proxied = Object.assign(Object.create(worker.redis) as Redis, {
      client: (what: string) => Promise.resolve(what === 'ID' ? 7_777_777 : 'id=1 addr=127.0.0.1:1\n'),
    });
    const presence = await createWorkerPresence(proxied);
    await presence.buryGone();
    expect(await listed()).to.have.members([await idOf(worker), '7777777']);
    expect(await leased()).to.deep.equal([queueName(a)]);
  });
});

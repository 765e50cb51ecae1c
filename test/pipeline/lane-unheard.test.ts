import { expect } from 'chai';
import { pino } from 'pino';
import { leaseMs, takeMaterials } from '../../shared/queue/leases.js';
import { keys } from '../../shared/queue/names.js';
import { createWorkerPresence } from '../../shared/queue/worker-presence.js';
import { startLane } from '../../worker/lane.js';
import type { Lane } from '../../worker/lane.js';
import { databaseWhose, depsOf, wakeful } from '../support/redis/lane-deps.js';
import { useQueueHarness } from '../support/redis/queue-harness.js';
import { operationOf } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;
const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };

/** A fault that a lane does not expect ends it for good, and with it the worker. */
describe('a lane whose Redis refuses what it tells', () => {
  const harness = useQueueHarness();
  let lane: Lane | undefined;
  afterEach(async () => {
    lane?.stop();
    await lane?.done;
    lane = undefined;
  });

  const addJob = () =>
    harness.add(ref, { operations: [operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] })] });

  /** The connection, which refuses a command for as long as `isRefused` says; and which it has refused. */
  function refusing(isRefused: (command: string) => boolean) {
    const refused: string[] = [];
    const redis = new Proxy(harness.redis, {
      get(target, name) {
        const command = String(name);
        if (!isRefused(command)) return Reflect.get(target, name) as unknown;
        return () => {
          refused.push(command);
          return Promise.reject(new Error('Connection is closed.'));
        };
      },
    });
    return { redis, refused };
  }

  it('works on, though neither the full disk can be told nor what it held be given back', async () => {
    await addJob();
    const { redis, refused } = refusing((command) => ['set', 'rmGiveBack'].includes(command));
    let steps = 0;
    const presence = { ...(await createWorkerPresence(harness.redis)), assertServes: () => (steps += 1) };
    const full = Object.assign(new Error('No space left on device'), { code: '53100' });
    const database = databaseWhose(() => Promise.reject(full));
    lane = startLane(await depsOf(harness, { redis, database, presence }), wakeful);
    await until(() => refused.length > 2, { deadlineMs: soonMsMax, what: 'the third refusal' });
    const before = steps;
    await until(() => steps > before + 10, { deadlineMs: soonMsMax, what: 'the lane to work on' });
    expect(refused).to.deep.equal(['set', 'rmGiveBack', 'rmGiveBack']);
  });

  it('says that a lease could not be renewed, and renews it the next time', async () => {
    await addJob();
    let isRefused = true;
    const { redis } = refusing((command) => command === 'rmRenew' && isRefused);
    const said: string[] = [];
    const logger = pino({}, { write: (line) => void said.push((JSON.parse(line) as { msg: string }).msg) });
    let end: (error: Error) => void = () => undefined;
    const silence = new Promise<never>((_, reject) => (end = reject));
    lane = startLane(await depsOf(harness, { redis, database: databaseWhose(() => silence), logger }), wakeful);
    try {
      await until(() => said.length > 0, { deadlineMs: soonMsMax, what: 'the line of the log' });
      expect(said[0]).to.equal('Leases could not be renewed.');
      // As if nobody had taken it: a renewal alone brings it back.
      await harness.redis.zadd(keys.scheduled, 1, (await harness.redis.hkeys(keys.leases))[0] ?? '');
      isRefused = false;
      const deadline = async () => Number((await harness.redis.zrange(keys.scheduled, '0', '0', 'WITHSCORES'))[1]);
      await until(async () => (await deadline()) > leaseMs, { deadlineMs: soonMsMax, what: 'a renewal' });
    } finally {
      lane.stop();
      end(new Error('Connection terminated'));
    }
  });

  it('ends when it is stopped, though it cannot give back what was taken for it', async () => {
    const { redis, refused } = refusing((command) => command === 'rmGiveBack');
    const database = databaseWhose(() => Promise.reject(new Error('nothing is to be applied')));
    const deps = await depsOf(harness, { redis, database });
    const take = async () => {
      await addJob();
      lane?.stop();
      return takeMaterials(harness.redis, deps.presence, 1);
    };
    lane = startLane(deps, { take, close: () => Promise.resolve() });
    await lane.done;
    expect(refused).to.deep.equal(['rmGiveBack']);
  });
});

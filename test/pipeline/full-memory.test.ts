import { expect } from 'chai';
import { giveBack, leaseMs, renewLeases } from '../../shared/queue/leases.js';
import { keys, queueName } from '../../shared/queue/names.js';
import { runScript } from '../../shared/queue/run-script.js';
import { useQueueHarness, workedOff } from '../support/redis/queue-harness.js';

describe('a Redis whose memory is full, and which refuses what may need more,', () => {
  const harness = useQueueHarness();
  const ref = { shopId: 1, materialId: 'VMAT-VAR-a' };
  const name = queueName(ref);
  const job = 'job';

  const fill = () => harness.redis.config('SET', 'maxmemory', '1');
  const takeOne = async () => {
    const [held] = await harness.take(1);
    if (held === undefined) throw new Error('nothing was taken');
    return held;
  };
  afterEach(() => harness.redis.config('SET', 'maxmemory', '0'));

  beforeEach(() => harness.add(ref, { id: job }));

  it('hands out what stands in it, and has it finished', async () => {
    await fill();
    const held = await takeOne();
    expect(held.jobs.map(({ id }) => id)).to.deep.equal([job]);
    expect(await harness.advance([workedOff(held)])).to.include({ lost: 0 });
    expect(await harness.redis.keys(`*${name}*`)).to.deep.equal([]);
  });

  it('lets a lane keep what it holds for longer than a lease', async () => {
    const held = await takeOne();
    await harness.runOut(name);
    await fill();
    await renewLeases(harness.redis, [held]);
    expect(await harness.sweep()).to.equal(0);
    expect(await harness.redis.hget(keys.leases, name)).to.equal(held.token);
  });

  for (const delayMs of [0, leaseMs]) {
    it(`takes back what a lane gives back, ${delayMs === 0 ? 'at once' : 'for later'}`, async () => {
      const held = await takeOne();
      await fill();
      await giveBack(harness.redis, [held], delayMs, 'uncounted');
      expect(await harness.redis.hexists(keys.leases, name)).to.equal(0);
      expect(await harness.jobs(ref, 'wait')).to.deep.equal([job]);
      expect(await harness.ready(ref.shopId)).to.deep.equal(delayMs === 0 ? [name] : []);
    });
  }

  it('brings back what is held under a lease that has run out', async () => {
    await takeOne();
    await harness.runOut(name);
    await fill();
    expect(await harness.sweep()).to.equal(1);
    expect(await harness.ready(ref.shopId)).to.deep.equal([name]);
  });

  it('brings back what was taken under a token whose answer was lost', async () => {
    const { token } = await takeOne();
    await fill();
    expect(await runScript(harness.redis, 'rmBury', token)).to.equal(1);
    expect(await harness.ready(ref.shopId)).to.deep.equal([name]);
  });
});

import { expect } from 'chai';
import { createBatch, createTransaction } from '../../../shared/redis/batch.js';
import { connectProducerRedis, untilReady } from '../../../shared/redis/connections.js';
import { outlivingBytes } from '../../support/memory/outliving.js';
import { useQueueHarness } from '../../support/redis/queue-harness.js';

describe('commands that go out together', () => {
  const harness = useQueueHarness();

  it('are answered in their order, each with its own error', async () => {
    const batch = createBatch(harness.redis);
    batch.add((redis) => redis.set('text', 'a'));
    batch.add((redis) => redis.incr('text'));
    batch.add((redis) => redis.get('text'));
    expect(batch.size()).to.equal(3);
    const [set, incremented, got] = await batch.send();
    expect([set, got]).to.deep.equal([
      [null, 'OK'],
      [null, 'a'],
    ]);
    expect(incremented).to.have.length(1);
    expect(incremented?.[0]?.message).to.contain('not an integer');
  });

  it('fail each by itself where the connection is lost under them, and none is sent again', async () => {
    const batch = createBatch(harness.redis);
    batch.add((redis) => redis.blpop('nothing', 60));
    batch.add((redis) => redis.incr('count'));
    const answers = batch.send();
    await harness.server.kill();
    for (const [error] of await answers) expect(error).to.be.instanceOf(Error);
    await harness.server.restart();
    await untilReady(harness.redis);
    expect(await harness.redis.get('count')).to.equal(null);
  });

  it('fail each by itself before there is a first connection', async () => {
    const redis = connectProducerRedis(harness.server.url, () => undefined);
    try {
      const batch = createBatch(redis);
      batch.add((connection) => connection.incr('count'));
      const transaction = createTransaction(redis);
      transaction.add((connection) => connection.incr('count'));
      const [answers, refusal] = await Promise.all([batch.send(), transaction.exec().catch((error: unknown) => error)]);
      for (const error of [answers[0]?.[0], refusal]) expect(String(error)).to.contain("Stream isn't writeable");
    } finally {
      redis.disconnect();
    }
  });

  describe('as a transaction', () => {
    it('are sent when it is run, and done as one', async () => {
      const transaction = createTransaction(harness.redis);
      transaction.add((redis) => redis.set('text', 'a'));
      transaction.add((redis) => redis.incr('text'));
      transaction.add((redis) => redis.append('text', 'b'));
      expect(await harness.redis.exists('text')).to.equal(0);
      const answers = await transaction.exec();
      expect(answers.map(([error]) => error?.message.includes('not an integer') ?? null)).to.deep.equal([
        null,
        true,
        null,
      ]);
      expect(await harness.redis.get('text')).to.equal('ab');
    });

    it('have nothing of others between them', async () => {
      const transaction = createTransaction(harness.redis);
      transaction.add((redis) => redis.set('text', 'a'));
      transaction.add((redis) => redis.get('text'));
      const executed = transaction.exec();
      void harness.redis.set('text', 'b');
      expect(await executed).to.deep.equal([
        [null, 'OK'],
        [null, 'a'],
      ]);
      expect(await harness.redis.get('text')).to.equal('b');
    });

    it('are none of them done where Redis refuses one, and it says which it was', async () => {
      const transaction = createTransaction(harness.redis);
      transaction.add((redis) => redis.set('text', 'a'));
      transaction.add((redis) => redis.call('NO-SUCH-COMMAND'));
      const error: unknown = await transaction.exec().catch((reason: unknown) => reason);
      expect(String(error)).to.contain('NO-SUCH-COMMAND');
      expect(await harness.redis.exists('text')).to.equal(0);
      expect(await harness.redis.ping(), 'and it is over').to.equal('PONG');
    });

    it('are an error where Redis does not execute them', async () => {
      await harness.redis.watch('text');
      await harness.redis.set('text', 'a');
      const transaction = createTransaction(harness.redis);
      transaction.add((redis) => redis.append('text', 'b'));
      const error: unknown = await transaction.exec().catch((reason: unknown) => reason);
      expect(String(error)).to.contain('did not execute');
      expect(await harness.redis.get('text')).to.equal('a');
    });
  });

  describe('once they are answered', () => {
    const times = 400;
    const bytes = 8_000;
    const waiting = () => ({ payload: new Array(bytes / 8).fill(0.5) });
    const get = async (send: () => Promise<unknown>) => {
      const held = waiting();
      await send();
      return held;
    };

    it('keep nothing of who waited for them, alone or as a transaction', async () => {
      const batched = await outlivingBytes(times, () => {
        const batch = createBatch(harness.redis);
        batch.add((redis) => redis.get('text'));
        return get(batch.send);
      });
      const transacted = await outlivingBytes(times, () => {
        const transaction = createTransaction(harness.redis);
        transaction.add((redis) => redis.get('text'));
        return get(transaction.exec);
      });
      expect(batched).to.be.below(bytes / 2);
      expect(transacted).to.be.below(bytes / 2);
    });

    it('are not what they are on a pipeline of ioredis: that keeps all until a full collection', async () => {
      const seen = await outlivingBytes(times, () => get(() => harness.redis.multi().get('text').exec()));
      expect(seen, 'if this fails, ioredis has mended it, and its own will do').to.be.above(bytes);
    });
  });
});

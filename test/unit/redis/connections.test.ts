import { expect } from 'chai';
import { connectProducerRedis, untilReady } from '../../../shared/redis/connections.js';
import { startTestRedis } from '../../support/servers.js';
import { until } from '../../support/until.js';

const soonMsMax = 15_000;

describe('a Redis that is away', () => {
  it('is said to be once, however often it is tried, and once more after it was there', async () => {
    const server = await startTestRedis();
    const said: string[] = [];
    let tries = 0;
    const redis = connectProducerRedis(server.url, ({ message }) => said.push(message));
    redis.on('reconnecting', () => (tries += 1));
    const refusals = () => said.filter((message) => message.includes('ECONNREFUSED')).length;
    const away = async () => {
      tries = 0;
      await server.kill();
      await until(() => tries >= 5, { deadlineMs: soonMsMax, what: 'the fifth try' });
    };
    try {
      await untilReady(redis);
      await away();
      expect(refusals()).to.equal(1);
      await server.restart();
      await untilReady(redis);
      await away();
      expect(refusals()).to.equal(2);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});

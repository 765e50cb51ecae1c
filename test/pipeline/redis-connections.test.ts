import { expect } from 'chai';
import { Redis } from 'ioredis';
import {
  connectLimiterRedis,
  connectProducerRedis,
  connectRepliesRedis,
  connectWakeRedis,
  connectWorkerRedis,
  untilReady,
} from '../../shared/redis/connections.js';
import { startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { until } from '../support/time/until.js';

const soonMsMax = 10_000;

describe('a Redis connection', () => {
  let server: TestRedis;
  before(async () => (server = await startTestRedis()));
  after(() => server.stop());

  for (const [use, connect] of Object.entries({
    producer: connectProducerRedis,
    replies: connectRepliesRedis,
    limiter: connectLimiterRedis,
    worker: connectWorkerRedis,
    wake: connectWakeRedis,
  })) {
    it(`of the ${use} rejects what was in flight when it is lost, sends nothing twice, and comes back by itself`, async () => {
      const redis = connect(server.url, () => undefined);
      try {
        await untilReady(redis);
        const inFlight = redis.blpop('nothing', 60).then(
          () => 'answered',
          () => 'rejected',
        );
        await isBlocked();
        const counted = redis
          .pipeline()
          .rpush('once', use)
          .exec()
          .then(
            // Each command of a pipeline has an answer of its own.
            (answers) => (answers?.every(([error]) => error !== null) === true ? 'rejected' : 'answered'),
            () => 'rejected',
          );
        await server.kill();
        expect(await settled(inFlight)).to.equal('rejected');
        expect(await settled(counted)).to.equal('rejected');
        await server.restart();
        await until(() => redis.status === 'ready', { deadlineMs: soonMsMax, what: 'the connection' });
        expect(await redis.ping()).to.equal('PONG');
        expect(await redis.lrange('once', 0, -1)).to.not.contain(use);
      } finally {
        redis.disconnect();
      }
    });
  }

  /** Until the server holds the blocking command; the one behind it then waits unread. */
  async function isBlocked(): Promise<void> {
    const observer = new Redis(server.url, { retryStrategy: () => null });
    try {
      await until(async () => String(await observer.client('LIST')).includes('flags=b'), {
        deadlineMs: soonMsMax,
        what: 'the connection to block',
      });
    } finally {
      observer.disconnect();
    }
  }

  function settled(outcome: Promise<string>): Promise<string> {
    let result: string | undefined;
    void outcome.then((value) => (result = value));
    return until(() => result, { deadlineMs: soonMsMax, what: 'the command to settle' });
  }
});

import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Database } from '../../shared/database/connect.js';
import { addOne } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { pipelineKeys } from '../support/redis/redis-keys.js';
import { lacksCpu } from '../support/http/refusals.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const materials = 1_000;
const clients = 48;
const soonMsMax = 10_000;

describe('a thousand materials', () => {
  let service: Service;
  let database: Database;
  let redis: Redis;
  before(async () => {
    service = await startService({ apis: 2, workers: 2 });
    database = connectForTest(service.databaseUrl);
    redis = new Redis(service.redisUrl, { connectionName: 'test' });
  });
  after(async () => {
    redis.disconnect();
    await database.destroy();
    await service.stop();
  });

  it('take no Redis connection more than one, and leave no key in Redis', async () => {
    const shop = await createTestShop(database, { materials });
    const before = await connections();
    const open = [...shop.materialIds];
    const touch = async (client: number) => {
      for (let materialId = open.pop(); materialId !== undefined; materialId = open.pop()) {
        const ask = () => addOne(service.baseUrls[client % 2] ?? '', shop, { materialId });
        let answer = await ask();
        while (lacksCpu() && answer.status === 503) answer = await ask();
        expect(answer.status, answer.text).to.equal(200);
      }
    };
    let most: string[] = [];
    const watching = until(
      async () => {
        const now = await connections();
        if (now.length > most.length) most = now;
        return open.length === 0;
      },
      { deadlineMs: 60_000, what: 'every material to be touched' },
    );
    await Promise.all([watching, ...Array.from({ length: clients }, (_, client) => touch(client))]);
    expect(most, 'while they are touched').to.deep.equal(before);
    expect(await connections(), 'afterwards').to.deep.equal(before);
    expect(before).to.deep.equal(
      ['limiter', 'limiter', 'producer', 'producer', 'replies', 'replies', 'wake', 'wake', 'worker', 'worker'].map(
        (use) => `raw-materials-${use}`,
      ),
    );
    await until(async () => (await pipelineKeys(service.redisUrl)).length === 0, {
      deadlineMs: soonMsMax,
      what: () => 'the keys of materials to be gone',
    });
  });

  /** Names of the connections of the service. */
  async function connections(): Promise<string[]> {
    const list = String(await redis.client('LIST'));
    return [...list.matchAll(/ name=(\S*)/g)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'test')
      .sort();
  }
});

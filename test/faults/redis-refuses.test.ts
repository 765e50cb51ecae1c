import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { startFaultProxy } from '../support/faults/fault-proxy.js';
import { connectForTest } from '../support/database/database.js';
import { scrape } from '../support/metrics/exposition.js';
import { request } from '../support/http/http.js';
import { startTestRedis } from '../support/processes/servers.js';
import type { TestRedis } from '../support/processes/servers.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;

describe('a Redis that answers, and refuses what is written', () => {
  const ends: (() => Promise<unknown>)[] = [];
  let database: Database;
  let shop: TestShop;

  const open = async (redisUrl: string): Promise<Service> => {
    const service = await startService({ redisUrl, env: { ADMIN_PORT: '0' } });
    ends.push(() => service.stop());
    database = connectForTest(service.databaseUrl);
    ends.push(() => database.destroy());
    shop = await createTestShop(database, { materials: 1 });
    return service;
  };
  const ownRedis = async (): Promise<TestRedis> => {
    const server = await startTestRedis();
    ends.push(() => server.stop());
    return server;
  };
  const configure = async (url: string, ...commands: [string, ...string[]][]) => {
    const redis = new Redis(url, { retryStrategy: () => null });
    try {
      for (const [command, ...args] of commands) await redis.call(command, ...args);
    } finally {
      redis.disconnect();
    }
  };
  const heardChannels = async (url: string): Promise<unknown[]> => {
    const redis = new Redis(url, { retryStrategy: () => null });
    try {
      return await redis.pubsub('CHANNELS');
    } finally {
      redis.disconnect();
    }
  };
  const write = (service: Service) => addOne(service.baseUrls[0] ?? '', shop);
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  it('because it is a replica since a fail-over is left for the one that its address leads to now', async () => {
    const [old, next] = await Promise.all([ownRedis(), ownRedis()]);
    await configure(next.url, ['CONFIG', 'SET', 'requirepass', new URL(old.url).password]);
    const target = { port: old.port };
    const proxy = await startFaultProxy(target);
    ends.push(() => proxy.close());
    const service = await open(proxy.through(old.url));
    expect((await write(service)).status).to.equal(200);

    // A primary that is demoted keeps its connections.
    target.port = next.port;
    await configure(old.url, ['REPLICAOF', '127.0.0.1', '1']);
    await until(async () => (await write(service)).status === 200, {
      deadlineMs: soonMsMax,
      what: 'a write through the new primary',
    });
    await untilServing(service);
  });

  it('because its memory is full is away for writes and to /readyz, the log says why, and reads go on', async () => {
    const server = await ownRedis();
    const service = await open(server.url);
    const [baseUrl = ''] = service.baseUrls;
    await configure(server.url, ['CONFIG', 'SET', 'maxmemory', '1']);
    const ready = () => request(baseUrl, { path: '/readyz' });
    await until(async () => (await ready()).status === 503, { deadlineMs: soonMsMax, what: '/readyz to say so' });
    expect((await ready()).text)
      .to.contain('Redis does not answer, or takes no writes')
      .and.not.to.contain('worker');
    // Its connections work, so that by them alone no alert would fire; of workers nothing is known.
    const metrics = () => scrape(service.apis[0]?.adminUrl);
    const parts = async () =>
      (await metrics()).samples
        .filter(({ name }) => name === 'raw_materials_ready')
        .map(({ labels, value }) => `${labels['part']} ${value}`)
        .join();
    expect((await metrics()).sum('raw_materials_redis_connected')).to.equal(3);
    await until(async () => (await parts()) === 'postgres 1,redis 0', { deadlineMs: soonMsMax, what: 'the metrics' });
    const refused = await write(service);
    expect(refused.status).to.equal(503);
    expect(refused.text).to.contain('The queue is not reachable, or takes no writes.');
    const read = await request(baseUrl, { path: '/v1/raw-materials', key: shop.writeKey });
    expect(read.status).to.equal(200);
    expect(service.apis[0]?.logs().join('\n')).to.match(/OOM command not allowed/);

    await configure(server.url, ['CONFIG', 'SET', 'maxmemory', '0']);
    await untilServing(service);
    await until(async () => (await metrics()).sum('raw_materials_ready') === 3, {
      deadlineMs: soonMsMax,
      what: 'the metrics',
    });
    expect((await write(service)).status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(1);
  });

  it('the right to its reply channel costs a look-up a write, and says so; they are heard again by themselves', async () => {
    const server = await ownRedis();
    const service = await open(server.url);
    expect((await write(service)).status).to.equal(200);
    const said = () => service.apis.flatMap((each) => each.logs()).join('\n');
    // Redis ends subscribers that lose the right to their channel.
    await configure(server.url, ['ACL', 'SETUSER', 'default', 'resetchannels']);
    await until(() => said().includes('Replies are not heard'), { deadlineMs: soonMsMax, what: 'the log to say so' });
    expect(said()).to.contain('NOPERM').and.not.to.contain(new URL(server.url).password);
    expect((await write(service)).status).to.equal(200);
    expect((await service.startApi()).hasExited(), 'one that starts meanwhile').to.equal(false);

    await configure(server.url, ['ACL', 'SETUSER', 'default', 'allchannels']);
    await until(async () => (await heardChannels(server.url)).length === 2, {
      deadlineMs: soonMsMax,
      what: 'both to listen',
    });
    expect((await write(service)).status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(3);
    await untilServing(service);
  });
});

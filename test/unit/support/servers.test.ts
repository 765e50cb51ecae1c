import { expect } from 'chai';
import { Redis } from 'ioredis';
import { execute } from '../../support/database/execute.js';
import { raw, request } from '../../support/http/http.js';
import {
  createTestDatabase,
  migrateTestDatabase,
  startTestPostgres,
  startTestRedis,
  testPostgres,
} from '../../support/processes/servers.js';
import { startService } from '../../support/processes/service.js';
import type { Service } from '../../support/processes/service.js';

describe('the servers of the tests', () => {
  it('give each test a migrated, empty database of its own', async () => {
    const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    expect(one.url).not.to.equal(other.url);
    await execute(one.url, 'CREATE TABLE only_here ()');
    expect(await execute(other.url, `SELECT to_regclass('only_here') AS here`)).to.deep.equal([{ here: null }]);
    expect(await execute(other.url, 'SELECT count(*)::int AS shops FROM shops')).to.deep.equal([{ shops: 0 }]);
    await Promise.all([one.drop(), other.drop()]);
    const names = [one, other].map(({ url }) => `'${new URL(url).pathname.slice(1)}'`);
    const left = `SELECT FROM pg_database WHERE datname IN (${names.join()})`;
    expect(await execute((await testPostgres()).url, left)).to.have.length(0);
  });

  it('come back after a kill −9 on the same address: Postgres with all that was committed', async () => {
    const server = await startTestPostgres();
    try {
      const { url } = await migrateTestDatabase(server);
      await execute(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
      const { pid } = server;
      await server.kill();
      await server.restart();
      expect(server.pid).not.to.equal(pid);
      expect(await execute(url, 'SELECT answer FROM kept')).to.deep.equal([{ answer: 42 }]);
    } finally {
      await server.stop();
    }
  });

  it('come back after a kill −9 on the same address: Redis, which can be emptied', async () => {
    const server = await startTestRedis();
    try {
      await server.kill();
      await server.restart();
      await keysAfter(server.url, (redis) => redis.set('a', '1'));
      expect(await keysAfter(server.url, (redis) => redis.set('b', '1'))).to.equal(2);
      await server.flush();
      expect(await keysAfter(server.url, () => Promise.resolve())).to.equal(0);
    } finally {
      await server.stop();
    }
  });
});

describe('the service under test', () => {
  let service: Service;
  before(async () => (service = await startService({ apis: 2, workers: 1 })));
  after(() => service.stop());

  it('serves on ports of its own, over kept connections and raw bytes', async () => {
    const [one = '', other = ''] = service.baseUrls;
    expect(one).not.to.equal(other);
    expect((await request(one, { path: '/readyz' })).status).to.equal(200);
    const refused = await request(other, { path: '/v1/raw-materials', key: 'no-key' });
    expect(refused.status).to.equal(401);
    expect(refused.body).to.have.nested.property('error.code', 'UNAUTHORIZED');
    const port = service.apis[0]?.port ?? 0;
    const answer = await raw(port, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answer).to.match(/^HTTP\/1\.1 200 /);
  });

  it('tells how a process of it ended', async () => {
    const api = await service.startApi();
    api.kill('SIGKILL');
    expect(await api.exited).to.deep.equal({ code: null, signal: 'SIGKILL' });
    expect(api.logs().join()).to.include('listening');
  });
});

async function keysAfter(url: string, act: (redis: Redis) => Promise<unknown>): Promise<number> {
  const redis = new Redis(url, { retryStrategy: () => null });
  try {
    await act(redis);
    return await redis.dbsize();
  } finally {
    redis.disconnect();
  }
}

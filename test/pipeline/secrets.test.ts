import { expect } from 'chai';
import { Redis } from 'ioredis';
import { revokeKey } from '../../shared/database/api-keys.js';
import type { Database } from '../../shared/database/connect.js';
import { createMaterials } from '../../shared/database/create-materials.js';
import { mintKey, parseKey } from '../../shared/keys/api-key-format.js';
import { withFailingWrites, withLockedTable, withoutTable } from '../support/database/broken-storage.js';
import { connectForTest } from '../support/database/database.js';
import { createDice } from '../support/dice.js';
import { raw, request } from '../support/http/http.js';
import type { Asked } from '../support/http/http.js';
import { startRecordedLoad } from '../support/history/recorded-load.js';
import { inventoryPath, listPath, materialPath } from '../support/http/material-paths.js';
import { connectPlatform, platformTokenKey, startScriptedPlatform } from '../support/shop/platform.js';
import type { ScriptedPlatform } from '../support/shop/platform.js';
import { monitorRedis } from '../support/redis/redis-monitor.js';
import type { RedisMonitor } from '../support/redis/redis-monitor.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';
import { appendOnlyFile, contentsOfDatabase, contentsOfRedis } from '../support/database/whole-contents.js';

const platformId = '8005';
/** What a client sends though nobody asked for it, or searches for. */
const stray = 'stray-5f4e3d2c1b';
const adminToken = 'admin-0f9e8d7c6b5a4938';
const platformToken = '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';
const changesMin = 300;
const loadMsMax = 60_000;
const readyMsMax = 20_000;
const writtenMsMax = 10_000;

describe('secrets, after a busy run with faults of every kind', () => {
  let service: Service;
  let database: Database;
  let redis: Redis;
  let monitor: RedisMonitor;
  let platform: ScriptedPlatform;
  let shop: TestShop;
  const logs: string[] = [];
  const commands: string[] = [];
  const contents: string[] = [];
  const pages: string[] = [];
  /** What was shown to the service as a key, good or bad. */
  const shown: string[] = [];

  before(async () => {
    const env = { LOG_LEVEL: 'trace', PLATFORM_TOKEN_KEY: platformTokenKey, ADMIN_PORT: '0' };
    service = await startService({ env, apiEnv: { ADMIN_TOKEN: adminToken } });
    for (const process of [...service.apis, ...service.workers]) {
      logs.push(...process.logs());
      process.onLine((line) => logs.push(line));
    }
    database = connectForTest(service.databaseUrl, { poolMax: 3 });
    redis = new Redis(service.redisUrl, { retryStrategy: () => null });
    monitor = await monitorRedis(service.redisUrl, ({ name, args }) => commands.push([name, ...args].join(' ')));
    platform = await startScriptedPlatform((_request, response) => response.writeHead(401).end('{"errors":"no"}'));
    shop = await createTestShop(database, { materials: 4 });
    await connectPlatform(database, shop.shopId, platform.url, platformToken);
    await createMaterials(database, shop.shopId, [{ id: platformId, origin: 'platform', productName: 'Jar' }]);
    await beBusy();
  });
  after(async () => {
    monitor.stop();
    redis.disconnect();
    await platform.stop();
    await database.destroy();
    await service.stop();
  });

  const ask = (asked: Asked) => request(service.baseUrls[0] ?? '', asked);

  async function beBusy(): Promise<void> {
    const revoked = await createTestShop(database);
    await revokeKey(database, revoked.shopId, parseKey(revoked.readKey)?.id ?? '', new Date());
    shown.push(shop.readKey, shop.writeKey, revoked.readKey, mintKey().key, `${mintKey().key}x`);
    const baseUrls = () => service.baseUrls;
    const load = startRecordedLoad({ baseUrls, shop, dice: createDice('secrets'), clients: 8, keyed: true });
    for (const key of shown) await showEverywhere(key);
    await sendStrays();
    await keepContents();
    await lookAtAdminPorts();
    await breakThings();
    await until(() => load.executed() >= changesMin, { deadlineMs: loadMsMax, what: `${String(changesMin)} changes` });
    await keepContents();
    await load.finish();
  }

  /** Keeps what Redis holds at a moment when there is work in it. */
  async function keepContents(): Promise<void> {
    const isBusy = async () => contents[contents.push(await contentsOfRedis(redis)) - 1]?.includes('.VMAT-') === true;
    await until(isBusy, { deadlineMs: loadMsMax, what: 'work in Redis' });
  }

  /** A key where it belongs, and in every place where somebody might put it by mistake. */
  async function showEverywhere(key: string): Promise<void> {
    const path = inventoryPath(shop.materialIds[0] ?? '');
    const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const body = { updates: [{ locationId: '1001', delta: 1 }] };
    await ask({ path: listPath, key });
    await ask({ path: inventoryPath(platformId), key });
    await ask({ method: 'POST', path: '/mcp', key, body: ping });
    await ask({ method: 'PATCH', path, key, body, headers: { 'idempotency-key': 'one' } });
    await ask({ method: 'PATCH', path, key, body: '{' });
    await ask({ method: 'DELETE', path, key });
    for (const authorization of [key, `Basic ${key}`, `Bearer "${key}"`, `Bearer ${key} ${key}`]) {
      await ask({ path: listPath, headers: { authorization } });
    }
    await ask({ path: `${listPath}?access_token=${key}&page=0` });
    await ask({ path: listPath, headers: { 'x-api-key': key, cookie: `key=${key}` } });
    const port = service.apis[0]?.port ?? 0;
    await raw(port, `GET ${listPath} HTTP/9.9\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await raw(port, `BREW ${listPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await raw(port, `GET ${listPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nbroken\r\n\r\n`);
  }

  /** Only the validated copy of what was sent is queued, stored or logged (reliability §1). */
  async function sendStrays(): Promise<void> {
    const write = { key: shop.writeKey, method: 'PATCH', path: materialPath(shop.materialIds[1] ?? '') };
    expect((await ask({ ...write, body: { vendor: 'Kept', colour: stray, [stray]: [stray] } })).status).to.equal(200);
    expect((await ask({ ...write, body: { vendor: stray, unitCost: 'x' } })).status).to.equal(400);
    const query = `?search=${stray}&vendorFilter=${stray}&${stray}=1`;
    const headers = { 'x-custom': stray, referer: `http://x/${stray}`, 'user-agent': stray };
    expect((await ask({ path: listPath + query, key: shop.readKey, headers })).status).to.equal(200);
    expect((await ask({ path: `${listPath}/VMAT-${stray}/nowhere`, key: shop.readKey })).status).to.equal(404);
    expect((await ask({ ...write, body: `{"sku":"${stray}",}` })).status).to.equal(400);
    expect((await ask({ ...write, body: { sku: 'S' }, headers: { 'idempotency-key': stray } })).status).to.equal(200);
  }

  /** The second port: metrics of both processes, and the page of the queues. */
  async function lookAtAdminPorts(): Promise<void> {
    for (const { adminUrl = '' } of [...service.apis, ...service.workers]) {
      pages.push(await (await fetch(`${adminUrl}/metrics`)).text());
    }
    const url = `${service.apis[0]?.adminUrl ?? ''}/queues/api/queues`;
    for (const [token, status] of [[adminToken, 200] as const, [shop.writeKey, 401] as const]) {
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      expect(response.status).to.equal(status);
      pages.push(await response.text());
    }
  }

  /** Faults of ours, and of what we lean on, each of which is logged with an error. */
  async function breakThings(): Promise<void> {
    const broken = await createTestShop(database);
    const [id = ''] = broken.materialIds;
    const body = { updates: [{ locationId: '1001', delta: 1 }] };
    const asked = { method: 'PATCH', path: inventoryPath(id), key: broken.writeKey, body };
    shown.push(broken.writeKey);
    await withFailingWrites(database, { table: 'ledger', shopId: broken.shopId }, async () => {
      expect((await ask(asked)).status).to.equal(500);
    });
    await withLockedTable(database, 'api_keys', async () => {
      const unread = mintKey().key;
      shown.push(unread);
      expect((await ask({ path: listPath, key: unread })).status).to.equal(503);
    });
    await withoutTable(database, 'bills', async () => {
      const path = `${materialPath(id)}?includeConnections=true`;
      expect((await ask({ path, key: broken.writeKey })).status).to.equal(500);
    });
    await cutConnectionsToRedis();
    await database.raw(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test'`);
    await ask({ path: listPath, key: broken.writeKey });
    await until(async () => (await ask({ path: '/readyz' })).status === 200, {
      deadlineMs: readyMsMax,
      what: 'all of it',
    });
  }

  /** All but those of this test. */
  async function cutConnectionsToRedis(): Promise<void> {
    const own = await redis.client('ID');
    const list = (await redis.client('LIST')) as string;
    for (const [line, id = ''] of list.matchAll(/^id=(\d+) .*$/gm)) {
      if (Number(id) !== own && !line.includes('cmd=monitor')) await redis.client('KILL', 'ID', id);
    }
  }

  /** Each secret, and what was sent in vain, in the forms in which it might be kept. */
  function secretForms(): string[] {
    const keySecrets = shown.map((key) => key.slice(16, 48));
    return [...keySecrets, platformToken, platformTokenKey, adminToken, stray].flatMap((secret) => [
      secret,
      Buffer.from(secret).toString('base64').replaceAll('=', ''),
      Buffer.from(secret).toString('hex'),
    ]);
  }

  function expectClean(text: string, control: string): void {
    expect(text, 'what is searched is what it should be').to.include(control);
    expect(secretForms().filter((form) => text.includes(form))).to.deep.equal([]);
  }

  it('no key, no token and no password is in what the processes logged', async () => {
    const text = logs.join('\n');
    expectClean(text, `"keyId":"${parseKey(shop.writeKey)?.id ?? ''}"`);
    const passwords = [service.databaseUrl, service.redisUrl].map((url) => new URL(url).password);
    for (const password of passwords) {
      expect(password.length).to.be.above(15);
      expect(text).not.to.include(password);
    }
    for (const message of ['A request met a fault.', 'secret detail of the inside'])
      expect(text, 'faults are logged').to.include(message);
    expect(platform.calls).to.be.above(0);
  });

  it('no key and no token is in Redis: in its keys, in what was sent to it, in its append-only file', async () => {
    const [materialId = ''] = shop.materialIds;
    expectClean(contents.join('\n'), '.VMAT-');
    expectClean(commands.join('\n'), materialId);
    await redis.set('secrets-test', 'the end of this run');
    const file = await until(
      async () => {
        const text = await appendOnlyFile(redis);
        return text.includes('the end of this run') ? text : undefined;
      },
      { deadlineMs: writtenMsMax, what: 'the append-only file to be written' },
    );
    expectClean(file, materialId);
  });

  it('no key and no token is on the second port: in the metrics, on the page of the queues', () => {
    expectClean(pages.join('\n'), '# HELP');
  });

  it('no key and no token is in any table of Postgres', async () => {
    expectClean(await contentsOfDatabase(database), parseKey(shop.readKey)?.id ?? '');
  });
});

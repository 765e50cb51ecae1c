import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { connectForTest } from '../../support/database/database.js';
import type { Answer } from '../../support/http/http.js';
import { ask } from '../../support/http/http-service.js';
import { inventoryPath, listPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { migrateTestDatabase, startTestPostgres } from '../../support/processes/servers.js';
import type { TestServer } from '../../support/processes/servers.js';
import { startService } from '../../support/processes/service.js';
import type { Service } from '../../support/processes/service.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

/** Far below the wait of a write that was queued (WAIT_MS, 10 s): what is answered within this was refused at once. */
const refusalMsMax = 5_000;
const recoveryMsMax = 20_000;

describe('every route: 503', () => {
  let postgres: TestServer;
  let service: Service;
  let database: Database;
  let shop: TestShop;

  before('a service with a Postgres and a Redis of its own', async () => {
    postgres = await startTestPostgres();
    service = await startService({ databaseUrl: (await migrateTestDatabase(postgres)).url });
    database = connectForTest(service.databaseUrl);
    shop = await createTestShop(database);
  });
  after(async () => {
    await database.destroy();
    await service.stop();
    await postgres.stop();
  });

  const baseUrl = () => service.baseUrls[0] ?? '';
  const send = (asked: { path: string; method?: string; body?: unknown; key?: string }): Promise<Answer> =>
    ask(baseUrl(), { ...asked, deadlineMs: refusalMsMax });
  const untilReady = (status: 200 | 503) =>
    until(
      async () => {
        const answer = await send({ path: '/readyz' });
        return answer.status === status && answer;
      },
      { deadlineMs: recoveryMsMax, what: `/readyz to be ${String(status)}` },
    );

  function expectRefused(answer: Answer): void {
    expectError(answer, 'SERVICE_UNAVAILABLE');
    expect(Number(answer.headers['retry-after'])).to.be.at.least(1);
  }
  /** Whoever was refused has changed nothing, and everything is served again by itself. */
  async function expectHealed(): Promise<void> {
    await untilReady(200);
    const path = inventoryPath(shop.materialIds[0]!);
    const levels = await until(
      async () => {
        const answer = await send({ path, key: shop.readKey });
        return answer.status === 200 && answer;
      },
      { deadlineMs: recoveryMsMax, what: 'reads to be served' },
    );
    const { totalQuantity: before } = expectData(levels, 'levels') as { totalQuantity: number };
    expect(before).to.equal(expectedTotal);
    for (const { asked } of routes) expect((await send({ ...asked(shop), key: shop.writeKey })).status).to.equal(200);
    expectedTotal += 1;
  }
  let expectedTotal = 0;

  it('Redis is away: writes are refused before they are queued, reads go on within the limit, and it heals', async () => {
    await service.redis?.kill();
    const notReady = await untilReady(503);
    expect(expectError(notReady, 'SERVICE_UNAVAILABLE').message).to.match(/Redis/);
    for (const { asked, scope } of routes) {
      const answer = await send({ ...asked(shop), key: shop.writeKey });
      if (scope === 'write') expectRefused(answer);
      else expect(answer.status).to.equal(200);
      expect(answer.headers).to.include.keys('ratelimit', 'ratelimit-policy');
    }
    expectData(await send({ path: '/healthz' }), 'status');
    await service.redis?.restart();
    await expectHealed();
  });

  it('Postgres is away: everything behind a key is refused, the process is well, and it heals', async () => {
    await postgres.kill();
    const notReady = await untilReady(503);
    expect(expectError(notReady, 'SERVICE_UNAVAILABLE').message).to.match(/Postgres/);
    for (const { asked } of routes) expectRefused(await send({ ...asked(shop), key: shop.writeKey }));
    expectError(await send({ path: listPath }), 'UNAUTHORIZED');
    expectData(await send({ path: '/healthz' }), 'status');
    await postgres.restart();
    await expectHealed();
  });
});

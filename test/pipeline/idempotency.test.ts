import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { request } from '../support/http/http.js';
import type { Answer } from '../support/http/http.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { stopProcess } from '../support/processes/service-process.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const healthyMsMax = 10_000;
const hourMs = 3_600_000;

describe('an Idempotency-Key', () => {
  let service: Service;
  let database: Database;
  useService({ apis: 2, workers: 2 }, (started) => ({ service, database } = started));
  let shop: TestShop;
  beforeEach(async () => (shop = await createTestShop(database)));

  const baseUrl = (index: number) => service.baseUrls[index % service.baseUrls.length] ?? '';
  const isReplayed = ({ headers }: Answer) => headers['idempotency-replayed'] === 'true';
  const dataOf = ({ body }: Answer): unknown => (body as { data: unknown }).data;

  it('of another material, or another shop, is another key', async () => {
    const second = await createTestShop(database, { materialIds: shop.materialIds });
    const third = await createTestShop(database);
    for (const each of [shop, second, third]) {
      const answer = await addOne(baseUrl(0), each, { idempotencyKey: 'everywhere' });
      expect([answer.status, isReplayed(answer)]).to.deep.equal([200, false]);
      expect(await totalOf(database, each)).to.equal(1);
    }
  });

  it('replays a refusal by the rules, and a field update', async () => {
    const [materialId = ''] = shop.materialIds;
    const ask = async (path: string, body: unknown) => {
      const asked = { method: 'PATCH', path, key: shop.writeKey, headers: { 'idempotency-key': 'same' }, body };
      return [await request(baseUrl(0), asked), await request(baseUrl(1), asked)] as const;
    };
    const missing = await ask('/v1/raw-materials/VMAT-VAR-missing/inventory', {
      updates: [{ locationId: '1001', delta: 1 }],
    });
    const update = await ask(`/v1/raw-materials/${materialId}`, { vendor: 'Once', inventoryQuantity: 5 });
    for (const [[first, second], status] of [
      [missing, 404],
      [update, 200],
    ] as const) {
      expect([first.status, isReplayed(first)]).to.deep.equal([status, false]);
      expect([second.status, isReplayed(second)]).to.deep.equal([status, true]);
      const { meta: _first, ...one } = first.body as Record<string, unknown>;
      const { meta: _second, ...other } = second.body as Record<string, unknown>;
      expect(other).to.deep.equal(one);
    }
    // The replay answers what was, even where the material has moved on.
    await addOne(baseUrl(0), shop);
    const [later] = await ask(`/v1/raw-materials/${materialId}`, { vendor: 'Once', inventoryQuantity: 5 });
    expect(dataOf(later)).to.deep.equal(dataOf(update[0]));
    expect(await totalOf(database, shop)).to.equal(6);
  });

  it('is remembered where Redis has forgotten everything', async () => {
    const first = await addOne(baseUrl(0), shop, { idempotencyKey: 'flushed' });
    await service.redis?.flush();
    // The flush takes the workers' heartbeats too, for the second until the next.
    const second = await until(
      async () => {
        const answer = await addOne(baseUrl(1), shop, { idempotencyKey: 'flushed' });
        return answer.status === 503 ? undefined : answer;
      },
      { deadlineMs: healthyMsMax, what: 'an answer after the flush' },
    );
    expect([second.status, isReplayed(second)]).to.deep.equal([200, true]);
    expect(dataOf(second)).to.deep.equal(dataOf(first));
    expect(await totalOf(database, shop)).to.equal(1);
  });

  it('runs afresh after a 503', async () => {
    const send = () => addOne(baseUrl(0), shop, { idempotencyKey: 'afresh' });
    await Promise.all(service.workers.splice(0).map(stopProcess));
    await until(async () => (await request(baseUrl(0), { path: '/readyz' })).status === 503, {
      deadlineMs: healthyMsMax,
      what: 'the API to see that no worker is there',
    });
    expect((await send()).status).to.equal(503);
    const before = await totalOf(database, shop);
    await service.startWorker();
    const answer = await until(
      async () => {
        const tried = await send();
        return tried.status === 503 ? undefined : tried;
      },
      { deadlineMs: healthyMsMax, what: 'an answer with a worker' },
    );
    expect([answer.status, isReplayed(answer)]).to.deep.equal([200, false]);
    expect(await totalOf(database, shop)).to.equal(before + 1);
    expect(isReplayed(await send())).to.equal(true);
  });

  it('is new once its memory has run out', async () => {
    await Promise.all(service.workers.splice(0).map(stopProcess));
    await service.startWorker({ KEY_MEMORY_MS: String(hourMs) });
    const send = () => addOne(baseUrl(1), shop, { idempotencyKey: 'forgotten' });
    const first = await until(
      async () => {
        const answer = await send();
        return answer.status === 200 ? answer : undefined;
      },
      { deadlineMs: healthyMsMax, what: 'an answer with the new worker' },
    );
    expect(isReplayed(first)).to.equal(false);
    expect(isReplayed(await send())).to.equal(true);
    // As if it had run out since; how long the memory is by default, nothing here comes near to.
    await database.raw(`UPDATE operations SET recorded_at = recorded_at - interval '1 hour' WHERE shop_id = ?`, [
      shop.shopId,
    ]);
    expect(isReplayed(await send())).to.equal(false);
    expect(await totalOf(database, shop)).to.equal(2);
  });
});

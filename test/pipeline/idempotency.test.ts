import { expect } from 'chai';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import { addOne, adjust, totalOf } from '../support/change.js';
import { request } from '../support/http.js';
import type { Answer } from '../support/http.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { stopProcess } from '../support/service-process.js';
import { createTestShop } from '../support/shop.js';
import type { TestShop } from '../support/shop.js';
import { until } from '../support/until.js';

const healthyMsMax = 10_000;

describe('an Idempotency-Key', () => {
  let service: Service;
  let database: Database;
  let shop: TestShop;
  before(async () => {
    service = await startService({ apis: 2, workers: 2 });
    database = connectDatabase({ url: service.databaseUrl, poolMax: 2, applicationName: 'test' });
  });
  after(async () => {
    await database.destroy();
    await service.stop();
  });
  beforeEach(async () => (shop = await createTestShop(database)));

  const baseUrl = (index: number) => service.baseUrls[index % service.baseUrls.length] ?? '';
  const isReplayed = ({ headers }: Answer) => headers['idempotency-replayed'] === 'true';
  const dataOf = ({ body }: Answer): unknown => (body as { data: unknown }).data;

  it('sent 2 to 16 times at once over two API processes has one effect and one answer', async () => {
    for (let copies = 2; copies <= 16; copies += 1) {
      const idempotencyKey = `copies-${String(copies)}`;
      const answers = await Promise.all(
        Array.from({ length: copies }, (_, index) => addOne(baseUrl(index), shop, { idempotencyKey })),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
      expect(new Set(answers.map((answer) => JSON.stringify(dataOf(answer))))).to.have.property('size', 1);
      expect(answers.filter((answer) => !isReplayed(answer))).to.have.length(1);
      expect(new Set(answers.map(({ headers }) => headers['x-request-id']))).to.have.property('size', copies);
      expect(await totalOf(database, shop)).to.equal(copies - 1);
    }
  });

  it('sent at once with different bodies is one of them, and 422 to the others', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [locationId = ''] = shop.locationIds;
      const before = await totalOf(database, shop);
      const deltas = [1, 10, 100, 1_000];
      const answers = await Promise.all(
        deltas.map((delta, index) =>
          adjust(baseUrl(index), shop, [{ locationId, delta }], { idempotencyKey: `bodies-${String(round)}` }),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422, 422, 422]);
      const winner = answers.findIndex(({ status }) => status === 200);
      expect(await totalOf(database, shop)).to.equal(before + (deltas[winner] ?? 0));
      const loser = answers.find(({ status }) => status === 422);
      expect(loser?.body).to.have.nested.property('error.code', 'IDEMPOTENCY_KEY_REUSED');
    }
  });

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
    await service.startWorker({ KEY_MEMORY_MS: '700' });
    const send = () => addOne(baseUrl(1), shop, { idempotencyKey: 'forgotten' });
    const first = await until(
      async () => {
        const answer = await send();
        return answer.status === 200 ? answer : undefined;
      },
      { deadlineMs: healthyMsMax, what: 'an answer with the new worker' },
    );
    expect(isReplayed(first)).to.equal(false);
    const sentMs = performance.now();
    const second = await send();
    // On a machine that stands still for so long the memory may already have run out.
    if (performance.now() - sentMs < 500) expect(isReplayed(second)).to.equal(true);
    await until(async () => !isReplayed(await send()), { deadlineMs: healthyMsMax, what: 'the key to be new' });
    expect(await totalOf(database, shop)).to.be.at.least(2);
  });
});

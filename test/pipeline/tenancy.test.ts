import { expect } from 'chai';
import { revokeKey } from '../../shared/database/api-keys.js';
import type { Database } from '../../shared/database/connect.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { createDice } from '../support/dice.js';
import { request } from '../support/http/http.js';
import { checkHistory } from '../support/history/ledger-checker.js';
import { startRecordedLoad } from '../support/history/recorded-load.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 10_000;

describe('shops over two API processes', () => {
  let service: Service;
  let database: Database;
  useService({ apis: 2, workers: 2, env: { API_INSTANCES: '2' } }, (started) => ({ service, database } = started));

  const baseUrl = (index: number) => service.baseUrls[index % 2] ?? '';

  it('have one limit each: admitted is exactly the limit, reads and writes together', async () => {
    const limit = 60;
    const limited = await createTestShop(database, { rateLimitPoints: limit });
    const other = await createTestShop(database);
    const answers = await Promise.all(
      Array.from({ length: 2 * limit }, (_, index) =>
        index % 3 === 0
          ? addOne(baseUrl(index), limited)
          : request(baseUrl(index), { path: '/v1/raw-materials', key: limited.readKey }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).to.have.length(limit);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).to.have.length(limit);
    for (const { headers, body } of refused) {
      expect(headers['retry-after']).to.match(/^[1-9]\d*$/);
      expect(body).to.have.nested.property('error.code', 'RATE_LIMITED');
    }
    const written = answers.filter(({ status }, index) => status === 200 && index % 3 === 0).length;
    expect(await totalOf(database, limited)).to.equal(written);
    expect((await addOne(baseUrl(0), other)).status).to.equal(200);
  });

  it('know the scope of a key, and its revocation, in every process', async () => {
    const shop = await createTestShop(database);
    const asReader = { ...shop, writeKey: shop.readKey };
    for (const index of [0, 1]) {
      expect((await addOne(baseUrl(index), asReader)).status).to.equal(403);
      expect((await addOne(baseUrl(index), shop)).status).to.equal(200);
    }
    const id = shop.writeKey.slice('rmk_'.length, 'rmk_'.length + 12);
    expect(await revokeKey(database, shop.shopId, id, new Date())).to.have.property('id', id);
    for (const index of [0, 1]) {
      await until(async () => (await addOne(baseUrl(index), shop)).status === 401, {
        deadlineMs: soonMsMax,
        what: 'the revocation to be seen',
      });
    }
  });

  it('with the same material and location ids do not touch each other', async () => {
    const one = await createTestShop(database, { materials: 2 });
    const other = await createTestShop(database, { materialIds: one.materialIds, allowNegative: true });
    const untouched = await createTestShop(database, { materialIds: one.materialIds });
    const loads = [one, other].map((shop, index) =>
      startRecordedLoad({
        baseUrls: () => service.baseUrls,
        shop,
        dice: createDice(`shop ${String(index)}`),
        clients: 12,
        keyed: true,
      }),
    );
    await until(() => loads.every((load) => load.executed() >= 300), { deadlineMs: 30_000, what: 'some load' });
    await Promise.all(loads.map((load) => load.finish()));
    for (const [index, shop] of [one, other].entries()) {
      const history = loads[index]?.history ?? { intents: [], reads: [] };
      const verdict = await checkHistory(database, { ...shop, allowNegative: index === 1 }, history);
      expect(verdict.faults.join('\n')).to.equal('');
    }
    for (const materialId of untouched.materialIds) expect(await totalOf(database, untouched, materialId)).to.equal(0);
  });

  it('do not see a material of another, and cannot change it', async () => {
    const [owner, stranger] = [await createTestShop(database), await createTestShop(database)];
    const [materialId = ''] = owner.materialIds;
    expect((await addOne(baseUrl(0), stranger, { materialId })).status).to.equal(404);
    expect((await addOne(baseUrl(1), owner, { materialId })).status).to.equal(200);
    expect(await totalOf(database, owner)).to.equal(1);
  });
});

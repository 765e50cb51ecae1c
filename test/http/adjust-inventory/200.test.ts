import { expect } from 'chai';
import { updateShop } from '../../../shared/database/shops.js';
import { useHttpService } from '../../support/http/http-service.js';
import type { Answer } from '../../support/http/http.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectData, keysOf } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

interface Row {
  locationId: string;
  delta?: number;
  absolute?: number;
  [field: string]: unknown;
}

interface Batch {
  results: { index: number; ok: boolean; id?: string; error?: { code: string; message: string } }[];
  okCount: number;
  failedCount: number;
  skippedCount: number;
}

/** Steps of one level: what is sent, and the level afterwards. Every row is ok. */
const cases: { title: string; allowNegative?: boolean; steps: [Omit<Row, 'locationId'>, number][] }[] = [
  {
    title: 'a delta adds to a level that begins at 0',
    steps: [
      [{ delta: 2.5 }, 2.5],
      [{ delta: -1 }, 1.5],
    ],
  },
  {
    title: 'a delta past zero is truncated and still ok',
    steps: [
      [{ delta: 3 }, 3],
      [{ delta: -5 }, 0],
      [{ delta: -1 }, 0],
    ],
  },
  {
    title: 'an absolute sets the level',
    steps: [
      [{ absolute: 7 }, 7],
      [{ absolute: 2.25 }, 2.25],
      [{ absolute: 0 }, 0],
    ],
  },
  {
    title: 'an absolute that equals the level and a delta of 0 are ok',
    steps: [
      [{ absolute: 7 }, 7],
      [{ absolute: 7 }, 7],
      [{ delta: 0 }, 7],
    ],
  },
  {
    title: '0.1 + 0.2 is 0.3',
    steps: [
      [{ delta: 0.1 + 0.2 }, 0.3],
      [{ delta: -0.3 }, 0],
    ],
  },
  {
    title: 'more than six places are rounded half away from zero',
    steps: [
      [{ delta: 1.0000005 }, 1.000001],
      [{ delta: -0.0000005 }, 1],
      [{ absolute: 1e-7 }, 0],
    ],
  },
  { title: 'ten times 0.1 is 1', steps: Array.from({ length: 10 }, (_, n) => [{ delta: 0.1 }, (n + 1) / 10]) },
  {
    title: 'the largest input is taken',
    steps: [
      [{ absolute: 1e9 }, 1e9],
      [{ delta: 1e9 }, 2e9],
      [{ delta: -1e9 }, 1e9],
    ],
  },
  {
    title: 'where the shop allows it a delta goes below zero',
    allowNegative: true,
    steps: [
      [{ delta: -3 }, -3],
      [{ delta: -0.5 }, -3.5],
      [{ absolute: 0 }, 0],
    ],
  },
];

describe('PATCH /v1/raw-materials/{variantId}/inventory: 200', () => {
  const http = useHttpService();

  function patch(shop: TestShop, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const path = inventoryPath(shop.materialIds[0]!);
    return http.ask({ method: 'PATCH', path, key: shop.writeKey, body, headers });
  }
  async function adjust(shop: TestShop, updates: Row[]): Promise<Batch> {
    const batch = expectData(await patch(shop, { updates }), 'batch') as Batch;
    expect(batch.okCount + batch.failedCount + batch.skippedCount).to.equal(updates.length);
    expect(batch.results.map(({ index }) => index)).to.deep.equal(updates.map((_, index) => index));
    return batch;
  }
  async function levels(shop: TestShop): Promise<Record<string, number>> {
    const answer = await http.ask({ path: inventoryPath(shop.materialIds[0]!), key: shop.readKey });
    const { levels: found } = expectData(answer, 'levels') as { levels: { locationId: string; quantity: number }[] };
    return Object.fromEntries(found.map(({ locationId, quantity }) => [locationId, quantity]));
  }

  for (const { title, allowNegative = false, steps } of cases) {
    it(title, async () => {
      const shop = await createTestShop(http.database, { allowNegative });
      for (const [row, level] of steps) {
        const batch = await adjust(shop, [{ locationId: '1001', ...row }]);
        expect(batch).to.deep.equal({
          results: [{ index: 0, ok: true, id: shop.materialIds[0] }],
          okCount: 1,
          failedCount: 0,
          skippedCount: 0,
        });
        expect(await levels(shop), JSON.stringify(row)).to.deep.equal({ '1001': level });
      }
    });
  }

  it('carries exactly the fields of the contract, on rows that succeed and on rows that fail', async () => {
    const shop = await createTestShop(http.database);
    const answer = await patch(shop, {
      updates: [
        { locationId: '1001', delta: 1 },
        { locationId: '9', delta: 1 },
      ],
    });
    const { results } = expectData(answer, 'batch') as Batch;
    expect(keysOf(answer.body)).to.deep.equal(
      ['data', 'data.failedCount', 'data.okCount', 'data.results', 'data.results[].error'].concat(
        ['data.results[].error.code', 'data.results[].error.message', 'data.results[].id', 'data.results[].index'],
        ['data.results[].ok', 'data.skippedCount', 'meta', 'meta.apiVersion', 'meta.requestId'],
      ),
    );
    expect(results.map((result) => Object.keys(result).sort())).to.deep.equal([
      ['id', 'index', 'ok'],
      ['error', 'index', 'ok'],
    ]);
    expect(answer.headers).not.to.have.property('idempotency-replayed');
    expect(answer.headers).not.to.have.property('preference-applied');
  });

  it('a delta never raises a level that is below zero since the setting was switched; an absolute mends it', async () => {
    const shop = await createTestShop(http.database, { allowNegative: true });
    await adjust(shop, [{ locationId: '1001', delta: -4 }]);
    await updateShop(http.database, shop.shopId, { allowNegativeInventory: false });
    await adjust(shop, [{ locationId: '1001', delta: -1 }]);
    expect(await levels(shop)).to.deep.equal({ '1001': -4 });
    await adjust(shop, [{ locationId: '1001', delta: 1 }]);
    expect(await levels(shop)).to.deep.equal({ '1001': -3 });
    await adjust(shop, [{ locationId: '1001', absolute: 2 }]);
    expect(await levels(shop)).to.deep.equal({ '1001': 2 });
  });

  it('rows run in their order, and each sees what the one before it left at the same location', async () => {
    const shop = await createTestShop(http.database);
    await adjust(shop, [
      { locationId: '1001', delta: 5 },
      { locationId: '1001', delta: -9 },
      { locationId: '1001', delta: 2, expected: 0 },
      { locationId: '1002', absolute: 4 },
      { locationId: '1001', delta: 1 },
    ]);
    expect(await levels(shop)).to.deep.equal({ '1001': 3, '1002': 4 });
  });

  it('a batch is not all or nothing: failed rows change nothing, the others are applied', async () => {
    const shop = await createTestShop(http.database, { allowNegative: true });
    await adjust(
      shop,
      Array.from({ length: 8 }, () => ({ locationId: '1003', delta: 1e9 })),
    );
    const batch = await adjust(shop, [
      { locationId: '1001', delta: -5 },
      { locationId: 'nowhere', delta: 1 },
      { locationId: '1003', delta: 0.000001 },
      { locationId: '1002', delta: 1, expected: 7 },
      { locationId: '1002', delta: 2, expected: 0, variantId: shop.materialIds[0] },
    ]);
    expect(batch.results.map(({ ok, error }) => (ok ? 'ok' : error?.code))).to.deep.equal([
      'ok',
      'NOT_FOUND',
      'INVALID_INPUT',
      'CONFLICT',
      'ok',
    ]);
    expect(batch).to.include({ okCount: 2, failedCount: 3, skippedCount: 0 });
    expect(await levels(shop)).to.deep.equal({ '1001': -5, '1002': 2, '1003': 8e9 });
  });

  it('every row failing with different codes is a 200 with okCount 0', async () => {
    const shop = await createTestShop(http.database);
    const batch = await adjust(shop, [
      { locationId: 'nowhere', delta: 1 },
      { locationId: '1001', delta: 1, expected: 3 },
    ]);
    expect(batch).to.include({ okCount: 0, failedCount: 2 });
    expect(await levels(shop)).to.deep.equal({});
  });

  it('-0 is 0', async () => {
    const shop = await createTestShop(http.database);
    const body = '{"updates":[{"locationId":"1001","absolute":-0},{"locationId":"1001","delta":-0.0,"expected":-0}]}';
    expect(expectData(await patch(shop, body), 'batch')).to.include({ okCount: 2 });
    const read = await http.ask({ path: inventoryPath(shop.materialIds[0]!), key: shop.readKey });
    expect(read.text).to.contain('"totalQuantity":0,').and.to.contain('"quantity":0,');
  });

  it('takes 1,000 rows, and leaves a ledger without gaps that adds up to the level', async () => {
    const shop = await createTestShop(http.database, { locations: 2 });
    const updates = Array.from({ length: 1_000 }, (_, n) => ({
      locationId: n % 2 === 0 ? '1001' : '1002',
      delta: 0.001,
      reason: 'count',
      reference: `r${n}`,
    }));
    expect(await adjust(shop, updates)).to.include({ okCount: 1_000 });
    expect(await levels(shop)).to.deep.equal({ '1001': 0.5, '1002': 0.5 });
    const { rows } = await http.database.raw<{ rows: unknown[] }>(
      `SELECT count(*)::int, min(sequence)::int, max(sequence)::int, sum(applied)::float, min(reason) AS reason,
         count(DISTINCT reference)::int AS "references"
       FROM ledger WHERE shop_id = ? GROUP BY level_id`,
      [shop.shopId],
    );
    const each = { count: 500, min: 1, max: 500, sum: 0.5, reason: 'count', references: 500 };
    expect(rows).to.deep.equal([each, each]);
  });

  it('after a 200 every read shows the write', async () => {
    const shop = await createTestShop(http.database);
    for (let n = 1; n <= 5; n += 1) {
      await adjust(shop, [{ locationId: '1002', delta: 1 }]);
      expect(await levels(shop)).to.deep.equal({ '1002': n });
      const single = await http.ask({ path: materialPath(shop.materialIds[0]!), key: shop.readKey });
      expect(expectData(single, 'material')).to.include({ inventoryQuantity: n });
    }
  });

  it('a repeat under the same Idempotency-Key replays the answer and says so; only the request id is new', async () => {
    const shop = await createTestShop(http.database);
    const body = { updates: [{ locationId: '1001', delta: 2 }] };
    const first = await patch(shop, body, { 'idempotency-key': 'again' });
    const second = await patch(shop, '{"updates":[{"delta":2.0,"locationId":"1001"}]}', {
      'idempotency-key': '"again"',
    });
    expect(expectData(second, 'batch')).to.deep.equal(expectData(first, 'batch'));
    expect(first.headers).not.to.have.property('idempotency-replayed');
    expect(second.headers['idempotency-replayed']).to.equal('true');
    expect(second.headers['x-request-id']).not.to.equal(first.headers['x-request-id']);
    expect(await levels(shop)).to.deep.equal({ '1001': 2 });
  });

  it('sixteen at once under one Idempotency-Key: one effect, one answer', async () => {
    const shop = await createTestShop(http.database);
    const body = { updates: [{ locationId: '1001', delta: 2 }] };
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => patch(shop, body, { 'idempotency-key': 'twins' })),
    );
    const replayed = answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true');
    expect(replayed).to.have.length(15);
    expect(new Set(answers.map((answer) => JSON.stringify(expectData(answer, 'batch')))).size).to.equal(1);
    expect(await levels(shop)).to.deep.equal({ '1001': 2 });
  });

  it('the shop decides the location, not its id: two shops with the same ids do not touch each other', async () => {
    const materialIds = ['VMAT-VAR-same'];
    const one = await createTestShop(http.database, { materialIds });
    const other = await createTestShop(http.database, { materialIds });
    await Promise.all([
      adjust(one, [{ locationId: '1001', delta: 1 }]),
      adjust(other, [{ locationId: '1001', delta: 10 }]),
    ]);
    expect([await levels(one), await levels(other)]).to.deep.equal([{ '1001': 1 }, { '1001': 10 }]);
  });
});

import { expect } from 'chai';
import type { Answer } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectHistory, expectReportedBatch } from '../../support/http/opt-in-replies.js';
import { expectData, expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

interface Batch {
  results: { ok: boolean; error?: { code: string; message: string } }[];
  okCount: number;
  failedCount: number;
}

describe('Prefer: handling=lenient on the inventory update', () => {
  const http = useHttpService();
  let shop: TestShop;
  let id: string;

  beforeEach(async () => {
    shop = await createTestShop(http.database);
    [id = ''] = shop.materialIds;
  });

  const lenient = { prefer: 'handling=lenient' };
  const send = (updates: unknown, headers: Record<string, string> = lenient, materialId = id) =>
    http.ask({ method: 'PATCH', path: inventoryPath(materialId), key: shop.writeKey, body: { updates }, headers });
  const history = async () =>
    expectHistory(await http.ask({ path: `${inventoryPath(id)}/history`, key: shop.readKey })).items;
  const batchOf = (answer: Answer) => expectData(answer, 'batch') as Batch;

  const bad = { locationId: '1001', delta: 1, absolute: 2 };

  it('makes row results of malformed rows and applies the others, each under its index in the request', async () => {
    const answer = await send([
      bad,
      { locationId: '1001', delta: 5 },
      { locationId: '1001', dleta: 7 },
      { locationId: '9', delta: 1 },
      { locationId: '1002', delta: 2, variantId: 'VMAT-other' },
      { locationId: '1002', delta: 3, variantId: id },
    ]);
    expect(answer.headers['preference-applied']).to.equal('handling=lenient');
    const { results, okCount, failedCount } = batchOf(answer);
    expect({ okCount, failedCount }).to.deep.equal({ okCount: 2, failedCount: 4 });
    expect(results.map(({ ok, error }) => (ok ? 'ok' : error?.code))).to.deep.equal([
      'INVALID_INPUT',
      'ok',
      'INVALID_INPUT',
      'NOT_FOUND',
      'INVALID_INPUT',
      'ok',
    ]);
    expect(results[4]?.error?.message).to.equal('variantId: Must equal the variantId of the request.');
    const { rows } = await http.database.raw<{ rows: { row_index: number }[] }>(
      'SELECT row_index FROM ledger WHERE shop_id = ? ORDER BY row_index',
      [shop.shopId],
    );
    expect(rows).to.deep.equal([{ row_index: 1 }, { row_index: 5 }]);
  });

  it('together with a representation reports the good rows under their indices', async () => {
    const answer = await send([bad, { locationId: '1001', delta: 5 }], {
      prefer: 'handling=lenient, return=representation',
    });
    expect(answer.headers['preference-applied']).to.equal('return=representation, handling=lenient');
    const { results } = expectReportedBatch(answer);
    expect(results[1]).to.deep.include({ index: 1, locationId: '1001', applied: 5, level: 5 });
  });

  it('with nothing malformed is what it is without', async () => {
    const updates = [{ locationId: '1001', delta: 5 }];
    expect(batchOf(await send(updates))).to.deep.equal(batchOf(await send(updates, {})));
  });

  it('collapses where every row is malformed, or fails with the same code, and applies nothing', async () => {
    const answer = await send([bad, 7]);
    expectFaults(answer, ['/updates/0', '/updates/1']);
    expect(answer.headers).to.not.have.property('preference-applied');
    // The malformed row and the one past the bounds of a level are both INVALID_INPUT.
    await send([{ locationId: '1001', absolute: 1e9 }]);
    for (let count = 0; count < 7; count += 1) await send([{ locationId: '1001', delta: 1e9 }]);
    const tooMuch = { locationId: '1001', delta: 1e9 };
    for (const updates of [
      [bad, tooMuch],
      [tooMuch, bad],
    ]) {
      const [first] = expectFaults(await send(updates), ['/updates/0', '/updates/1']);
      expect(first?.path, 'the rows in their order').to.equal('/updates/0');
    }
    expect(await history()).to.have.length(8);
  });

  it('does not collapse where the codes differ', async () => {
    const { okCount, failedCount } = batchOf(await send([bad, { locationId: '9', delta: 1 }]));
    expect({ okCount, failedCount }).to.deep.equal({ okCount: 0, failedCount: 2 });
  });

  it('answers a material that does not exist with 404, whatever the rows', async () => {
    expectError(await send([bad, { locationId: '1001', delta: 1 }], lenient, 'VMAT-unknown'), 'NOT_FOUND');
    expectError(await send([bad, 7], lenient, 'VMAT-unknown'), 'NOT_FOUND');
    const other = await createTestShop(http.database, { materialIds: ['VMAT-of-another'] });
    expectError(await send([bad], lenient, other.materialIds[0]), 'NOT_FOUND');
  });

  it('is for rows: what is wrong with the request around them is still 400', async () => {
    for (const updates of [undefined, {}, [], Array.from({ length: 1_001 }, () => bad)]) {
      expectFaults(await send(updates), ['/updates']);
    }
    expectError(await send([{ locationId: '1001', delta: 1 }], lenient, '123'), 'INVALID_INPUT');
  });

  it('is replayed whole to its twin, malformed rows included', async () => {
    const updates = [bad, { locationId: '1001', delta: 5 }];
    const headers = { ...lenient, 'idempotency-key': 'l' };
    const first = await send(updates, headers);
    const twin = await send(updates, headers);
    expect(twin.headers['idempotency-replayed']).to.equal('true');
    expect(batchOf(twin)).to.deep.equal(batchOf(first));
    expect(await history()).to.have.length(1);
  });

  it('that was not asked for fails the request, and applies nothing', async () => {
    const answer = await send([bad, { locationId: '1001', delta: 5 }], { prefer: 'handling=strict, handling=lenient' });
    expectError(answer, 'INVALID_INPUT');
    expect(await history()).to.deep.equal([]);
  });
});

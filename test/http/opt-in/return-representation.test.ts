import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectReportedBatch } from '../../support/http/opt-in-replies.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

describe('Prefer: return=representation on the inventory update', () => {
  const http = useHttpService();
  let shop: TestShop;
  let id: string;

  beforeEach(async () => {
    shop = await createTestShop(http.database);
    [id = ''] = shop.materialIds;
  });

  const send = (updates: object[], headers: Record<string, string | string[]> = { prefer: 'return=representation' }) =>
    http.ask({ method: 'PATCH', path: inventoryPath(id), key: shop.writeKey, body: { updates }, headers });

  it('adds to each ok row what it did, in units, and says so', async () => {
    const answer = await send([
      { locationId: '1001', delta: 2.5 },
      { locationId: '1001', delta: -4 },
      { locationId: '9', delta: 1 },
      { locationId: '1002', absolute: 0.000001 },
    ]);
    expect(answer.headers['preference-applied']).to.equal('return=representation');
    const { results, ...counts } = expectReportedBatch(answer);
    expect(counts).to.deep.equal({ okCount: 3, failedCount: 1, skippedCount: 0 });
    const row = (index: number) => ({ index, ok: true, id });
    expect(results).to.deep.equal([
      { ...row(0), locationId: '1001', previous: 0, applied: 2.5, level: 2.5, clamped: false },
      { ...row(1), locationId: '1001', previous: 2.5, applied: -2.5, level: 0, clamped: true },
      { index: 2, ok: false, error: { code: 'NOT_FOUND', message: 'The shop has no location 9.' } },
      { ...row(3), locationId: '1002', previous: 0, applied: 0.000001, level: 0.000001, clamped: false },
    ]);
  });

  it('shows a collapsed batch as ever, with nothing to say about a preference', async () => {
    const answer = await send([{ locationId: '9', delta: 1 }]);
    expectError(answer, 'NOT_FOUND');
    expect(answer.headers).to.not.have.property('preference-applied');
  });

  it('is asked for by the first of its kind, in any of several headers', async () => {
    const updates = [{ locationId: '1001', delta: 1 }];
    expectReportedBatch(await send(updates, { prefer: ['respond-async', 'Return="representation"'] }));
    for (const prefer of ['return=minimal, return=representation', 'x="a, return=representation"', 'return', 'x']) {
      const answer = await send(updates, { prefer });
      expectData(answer, 'batch');
      expect(answer.headers).to.not.have.property('preference-applied');
    }
  });

  it('is replayed whole to its twin, and is another request than the same without it', async () => {
    const updates = [{ locationId: '1001', delta: 3 }];
    const prefer = { prefer: 'return=representation', 'idempotency-key': 'r' };
    const first = await send(updates, prefer);
    const twin = await send(updates, prefer);
    expect(twin.headers).to.include({ 'idempotency-replayed': 'true', 'preference-applied': 'return=representation' });
    expect(expectReportedBatch(twin)).to.deep.equal(expectReportedBatch(first));
    expectError(await send(updates, { 'idempotency-key': 'r' }), 'IDEMPOTENCY_KEY_REUSED');
  });

  it('costs the record of an operation nothing where it was not asked for', async () => {
    await send([{ locationId: '1001', delta: 3 }], {});
    const { rows } = await http.database.raw<{ rows: { result: unknown }[] }>(
      'SELECT result FROM operations WHERE shop_id = ?',
      [shop.shopId],
    );
    expect(rows).to.deep.equal([{ result: { kind: 'adjusted', rowCount: 1, failures: [] } }]);
  });
});

import { expect } from 'chai';
import { withLockedMaterial } from '../../support/database/broken-storage.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectHistory, expectReportedBatch } from '../../support/http/opt-in-replies.js';
import { expectData, expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

describe('?dryRun=true on the inventory update', () => {
  const http = useHttpService();
  let shop: TestShop;
  let id: string;

  beforeEach(async () => {
    shop = await createTestShop(http.database);
    [id = ''] = shop.materialIds;
  });

  const send = (updates: object[], query = '?dryRun=true', headers: Record<string, string> = {}) =>
    http.ask({
      method: 'PATCH',
      path: `${inventoryPath(id)}${query}`,
      key: shop.writeKey,
      body: { updates },
      headers,
    });

  /** Everything that a booking would have written. */
  async function stored(): Promise<unknown> {
    const { rows: levels } = await http.database.raw<{ rows: unknown[] }>(
      'SELECT location_id, quantity, sequence, updated_at FROM levels WHERE shop_id = ? ORDER BY 1',
      [shop.shopId],
    );
    const { rows: stock } = await http.database.raw<{ rows: unknown[] }>(
      'SELECT total_quantity, updated_at FROM stock WHERE shop_id = ?',
      [shop.shopId],
    );
    const { rows: entries } = await http.database.raw<{ rows: unknown[] }>(
      'SELECT count(*)::integer FROM ledger WHERE shop_id = ?',
      [shop.shopId],
    );
    return { levels, stock, entries };
  }

  it('answers what would have happened, row by row, and writes no level, no total and no entry', async () => {
    await send([{ locationId: '1001', delta: 5 }], '');
    const before = await stored();
    const answer = await send([
      { locationId: '1001', delta: -7 },
      { locationId: '1001', delta: 1, expected: 0 },
      { locationId: '1002', absolute: 3 },
      { locationId: '9', delta: 1 },
    ]);
    expect(answer.headers).to.not.have.property('preference-applied');
    const { results, okCount } = expectReportedBatch(answer);
    expect(okCount).to.equal(3);
    expect(results[0]).to.deep.include({ previous: 5, applied: -5, level: 0, clamped: true });
    expect(results[1]).to.deep.include({ previous: 0, applied: 1, level: 1, clamped: false });
    expect(results[2]).to.deep.include({ locationId: '1002', previous: 0, applied: 3, level: 3 });
    expect(results[3]).to.have.nested.property('error.code', 'NOT_FOUND');
    expect(await stored()).to.deep.equal(before);
    const { items } = expectHistory(await http.ask({ path: `${inventoryPath(id)}/history`, key: shop.readKey }));
    expect(items).to.have.length(1);
    const read: unknown = expectData(await http.ask({ path: materialPath(id), key: shop.readKey }), 'material');
    expect(read).to.include({ inventoryQuantity: 5 });
  });

  it('with a preference says that it was honoured', async () => {
    const answer = await send([{ locationId: '1001', delta: 1 }, { locationId: '' }], undefined, {
      prefer: 'handling=lenient, return=representation',
    });
    expectReportedBatch(answer);
    expect(answer.headers['preference-applied']).to.equal('return=representation, handling=lenient');
    expect(await stored()).to.deep.include({ levels: [], entries: [{ count: 0 }] });
  });

  it('collapses and refuses as the batch itself would', async () => {
    expectError(await send([{ locationId: '9', delta: 1 }]), 'NOT_FOUND');
    expectError(await send([{ locationId: '1001', delta: 1, expected: 3 }]), 'CONFLICT');
    expectFaults(await send([{ locationId: '1001' }]), ['/updates/0']);
    id = 'VMAT-unknown';
    expectError(await send([{ locationId: '1001', delta: 1 }]), 'NOT_FOUND');
  });

  it('false is a batch like any other', async () => {
    expectData(await send([{ locationId: '1001', delta: 1 }], '?dryRun=false'), 'batch');
    expect(await stored()).to.deep.include({ entries: [{ count: 1 }] });
  });

  for (const query of ['?dryRun=1', '?dryRun=TRUE', '?dryRun', '?dryRun=true&dryRun=true', '?dryrun=true']) {
    it(`${query} is refused, since what might be meant as a dry run must not commit`, async () => {
      expectError(await send([{ locationId: '1001', delta: 1 }], query), 'INVALID_INPUT');
      expect(await stored()).to.deep.include({ entries: [{ count: 0 }] });
    });
  }

  it('is replayed to its twin, and the batch itself under the same key is another request', async () => {
    const updates = [{ locationId: '1001', delta: 4 }];
    const key = { 'idempotency-key': 'd' };
    const first = await send(updates, undefined, key);
    await send(updates, '');
    const twin = await send(updates, undefined, key);
    expect(twin.headers['idempotency-replayed']).to.equal('true');
    expect(expectReportedBatch(twin)).to.deep.equal(expectReportedBatch(first));
    expectError(await send(updates, '', key), 'IDEMPOTENCY_KEY_REUSED');
  });

  it('takes its true place among concurrent writes: each sees whole bookings before it, and none sees it', async () => {
    // On a level that only ever goes up by 1, a dry run of −1000 tells the level it met by what it would have applied.
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        index % 3 === 0
          ? send([{ locationId: '1001', delta: -1_000 }])
          : send([{ locationId: '1001', delta: 1 }], '', { prefer: 'return=representation' }),
      ),
    );
    const rows = answers.map((answer) => expectReportedBatch(answer).results[0] as { previous: number; level: number });
    const levels = rows.filter((_, index) => index % 3 !== 0).map(({ level }) => level);
    expect(levels.toSorted((one, other) => one - other)).to.deep.equal(Array.from({ length: 40 }, (_, at) => at + 1));
    for (const { previous } of rows) expect(previous).to.be.within(0, 40);
    expect(await stored()).to.deep.include({ entries: [{ count: 40 }] });
  });

  it('that finds no worker in time is 503 and not 504: it is certain that nothing was applied', async () => {
    await http.withApi({ WAIT_MS: '1000' }, ({ baseUrl }) =>
      withLockedMaterial(http.database, { shopId: shop.shopId, materialId: id }, async () => {
        const path = `${inventoryPath(id)}?dryRun=true`;
        const body = { updates: [{ locationId: '1001', delta: 1 }] };
        expectError(await ask(baseUrl, { method: 'PATCH', path, key: shop.writeKey, body }), 'SERVICE_UNAVAILABLE');
      }),
    );
  });
});

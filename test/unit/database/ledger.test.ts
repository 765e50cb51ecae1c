import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { readLedger } from '../../../shared/database/ledger.js';
import type { LedgerEntry, LedgerFilter, LedgerPage, LedgerPosition } from '../../../shared/database/ledger.js';
import type { AdjustmentRow } from '../../../shared/domain/adjustment.js';
import type { Operation } from '../../../shared/domain/operation.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { createUnequalLevels } from '../../support/shop/filled-ledger.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const everything: LedgerFilter = { locationId: undefined, requestId: undefined, fromMs: undefined, toMs: undefined };

describe('the ledger of a material', () => {
  let server: TestDatabase;
  let database: Database;
  let shop: TestShop;
  let materialId: string;

  before(async () => {
    server = await createTestDatabase();
    database = connectForTest(server.url, { pipeline: true });
  });
  after(async () => {
    await database.destroy();
    await server.drop();
  });
  beforeEach(async () => {
    shop = await createTestShop(database, { materials: 2 });
    [materialId = ''] = shop.materialIds;
  });

  /** Rows by the index of their location. */
  const at = (...places: number[]): Operation => {
    const rows = places.map((place): AdjustmentRow => ({
      locationId: shop.locationIds[place] ?? '',
      delta: 1_000_000,
    }));
    return operationOf({ kind: 'adjust', rows });
  };
  const book = (operations: Operation[], id = materialId) =>
    applyOperations(database, [{ shopId: shop.shopId, materialId: id, operations }], { nowMs: Date.now });
  async function read(filter: Partial<LedgerFilter> = {}, limit = 250, position?: LedgerPosition): Promise<LedgerPage> {
    const ref = { shopId: shop.shopId, materialId };
    const page = await readLedger(database, ref, { ...everything, ...filter }, { position, limit });
    if (page === undefined) throw new Error(`there is no position ${JSON.stringify(position)}`);
    return page;
  }
  const shown = (entries: readonly LedgerEntry[]) =>
    entries.map(({ locationId, sequence }) => `${locationId.slice(-1)}.${sequence}`).join(' ');

  async function readPages(limit: number, filter: Partial<LedgerFilter>, between: () => Promise<unknown>) {
    const entries: LedgerEntry[] = [];
    let position: LedgerPosition | undefined;
    do {
      const page = await read(filter, limit, position);
      expect(page.entries.length).to.be.at.most(limit);
      entries.push(...page.entries);
      position = page.next;
      await between();
    } while (position !== undefined);
    return entries;
  }

  it('shows the rows of a request in the opposite of their order, with all that was booked', async () => {
    const rows: AdjustmentRow[] = [
      { locationId: shop.locationIds[1] ?? '', absolute: 2_500_000, reason: 'count', reference: 'R-1' },
      { locationId: shop.locationIds[0] ?? '', delta: 1_000_000 },
      { locationId: shop.locationIds[1] ?? '', delta: -9_000_000 },
    ];
    const operation = { ...operationOf({ kind: 'adjust', rows }), keyId: 'key' };
    await book([operation]);
    const { entries, next } = await read();
    expect(next).to.equal(undefined);
    expect(shown(entries)).to.equal('2.2 1.1 2.1');
    const { atMs = 0, levelId = '' } = entries[0] ?? {};
    expect(entries[0]).to.deep.equal({
      levelId,
      locationId: shop.locationIds[1],
      sequence: 2,
      operationId: operation.id,
      rowIndex: 2,
      requested: { delta: -9_000_000 },
      previous: 2_500_000,
      applied: -2_500_000,
      level: 0,
      clamped: true,
      atMs,
      channel: 'rest',
      keyId: 'key',
      requestId: operation.id,
      reason: null,
      reference: null,
    });
    expect(entries[2]).to.deep.include({ requested: { absolute: 2_500_000 }, reason: 'count', reference: 'R-1' });
    expect(Math.abs(Date.now() - atMs)).to.be.below(60_000);
  });

  it('follows each level entry by entry, also where operations of one transaction ran against the order of their ids', async () => {
    const [first, second, third] = [at(0, 1), at(0), at(1, 0)];
    await book([third, first, second]);
    const { entries } = await read();
    for (const place of ['1', '2']) {
      const sequences = entries.filter(({ locationId }) => locationId.endsWith(place)).map(({ sequence }) => sequence);
      expect(sequences).to.deep.equal(sequences.toSorted((one, other) => other - one));
    }
    expect(entries).to.have.length(5);
  });

  for (const limit of [1, 2, 3, 7]) {
    it(`pages by ${limit} show every entry once and in order, while new ones are booked between them`, async () => {
      await book([at(0, 1, 2), at(1), at(2, 2)].toReversed());
      await book([at(0)]);
      await book([at(1, 0), at(2, 1)].toReversed());
      const { entries: whole } = await read();
      expect(whole).to.have.length(11);
      const paged = await readPages(limit, {}, () => book([at(0, 1), at(2)]));
      expect(shown(paged)).to.equal(shown(whole));
    });
  }

  it('of a location shows that alone, page by page', async () => {
    await book([at(0, 1, 2, 1)]);
    await book([at(1, 1), at(0)]);
    const paged = await readPages(1, { locationId: shop.locationIds[1] ?? '' }, () => book([at(1)]));
    expect(shown(paged)).to.equal('2.4 2.3 2.2 2.1');
    expect((await read({ locationId: 'nowhere' })).entries).to.deep.equal([]);
  });

  it('of a stretch of time shows what was booked from its first to its last millisecond', async () => {
    for (let count = 0; count < 5; count += 1) await book([at(0, 1)]);
    const { entries } = await read();
    const times = [...new Set(entries.map(({ atMs }) => atMs))];
    // Each transaction on a material has a time of its own, however fast they follow each other.
    expect(times).to.have.length(5);
    const [, toMs = 0, , fromMs = 0] = times;
    expect(shown((await read({ fromMs, toMs })).entries)).to.equal('2.4 1.4 2.3 1.3 2.2 1.2');
    expect(shown(await readPages(2, { fromMs, toMs }, () => Promise.resolve()))).to.equal('2.4 1.4 2.3 1.3 2.2 1.2');
    expect((await read({ fromMs: toMs, toMs: fromMs })).entries).to.deep.equal([]);
    expect((await read({ toMs: 0 })).entries).to.deep.equal([]);
    expect((await read({ fromMs: Date.now() + 60_000 })).entries).to.deep.equal([]);
  });

  it('keeps its times ascending where the clock was set back', async () => {
    await book([at(0)]);
    // As if the booking before this one had been made by a clock an hour ahead.
    await database.raw(`UPDATE stock SET updated_at = updated_at + interval '1 hour' WHERE shop_id = ?`, [shop.shopId]);
    await database.raw(`UPDATE ledger SET at = at + interval '1 hour' WHERE shop_id = ?`, [shop.shopId]);
    await book([at(0)]);
    const { entries } = await read();
    expect(shown(entries)).to.equal('1.2 1.1');
    expect((entries[0]?.atMs ?? 0) - (entries[1]?.atMs ?? 0)).to.equal(1);
  });

  it('keeps them so beside a material of the same transaction whose clock was always right', async () => {
    const beside = shop.materialIds[1] ?? '';
    await database.raw(`UPDATE stock SET updated_at = now() + interval '1 hour' WHERE material_id = ?`, [materialId]);
    const groups = [materialId, beside].map((id) => ({ shopId: shop.shopId, materialId: id, operations: [at(0)] }));
    await applyOperations(database, groups, { nowMs: Date.now });
    const { rows } = await database.raw<{ rows: object[] }>(
      `SELECT material_id AS id, ledger.at > now() + interval '30 minutes' AS ahead,
              ledger.at = levels.updated_at AND ledger.at = stock.updated_at AS alike
       FROM stock JOIN levels USING (shop_id, material_id) JOIN ledger ON level_id = levels.id
       WHERE stock.shop_id = ? ORDER BY ahead DESC`,
      [shop.shopId],
    );
    expect(rows).to.deep.equal([
      { id: materialId, ahead: true, alike: true },
      { id: beside, ahead: false, alike: true },
    ]);
  });

  it('of a request shows what it booked, of this material of this shop, and nothing of another', async () => {
    const operation = at(0, 1, 0);
    const elsewhere = at(0);
    await book([at(0), operation, at(1)]);
    await book([elsewhere], shop.materialIds[1]);
    const { entries } = await read({ requestId: operation.id });
    expect(shown(entries)).to.equal('1.3 2.1 1.2');
    expect(shown(await readPages(1, { requestId: operation.id }, () => book([at(0)])))).to.equal('1.3 2.1 1.2');
    expect((await read({ requestId: elsewhere.id })).entries).to.deep.equal([]);
    const other = await createTestShop(database, { materialIds: [materialId] });
    const ref = { shopId: other.shopId, materialId };
    const firstPage = { position: undefined, limit: 50 };
    const theirs = await readLedger(database, ref, { ...everything, requestId: operation.id }, firstPage);
    expect(theirs?.entries).to.deep.equal([]);
  });

  it('of a request has both ends of a time within, and nothing of an operation that came by no request', async () => {
    const [operation, without] = [at(0), { ...at(0), requestId: null }];
    await book([operation, without]);
    const [atMs = 0] = (await read()).entries.map((entry) => entry.atMs);
    const within = await read({ requestId: operation.id, fromMs: atMs, toMs: atMs });
    expect(within.entries).to.have.length(1);
    expect((await read({ requestId: operation.id, fromMs: atMs + 1 })).entries).to.deep.equal([]);
    expect((await read({ requestId: without.id })).entries).to.deep.equal([]);
  });

  it('of many levels, which changed unequally often, comes whole and in order, page by page', async () => {
    shop = await createUnequalLevels(database, { levels: 40, entriesMax: 25 });
    [materialId = ''] = shop.materialIds;
    const whole = (await read({}, 5_000)).entries;
    expect(whole).to.have.length(460);
    const [fromMs, toMs] = [whole[300]?.atMs, whole[20]?.atMs];
    const stretch = whole.filter(({ atMs }) => atMs >= (fromMs ?? 0) && atMs <= (toMs ?? 0));
    for (const limit of [3, 17, 90]) {
      const nothing = () => Promise.resolve();
      expect(shown(await readPages(limit, {}, nothing)), `by ${limit}`).to.equal(shown(whole));
      expect(shown(await readPages(limit, { fromMs, toMs }, nothing)), `by ${limit}`).to.equal(shown(stretch));
    }
  });
});

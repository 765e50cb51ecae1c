import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { readLedger } from '../../../shared/database/ledger.js';
import type { LedgerFilter, LedgerPosition, LedgerRecord } from '../../../shared/database/ledger.js';
import type { AdjustmentRow } from '../../../shared/domain/adjustment.js';
import type { Operation } from '../../../shared/domain/operation.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { connectForTest } from '../../support/database/database.js';
import { planOf, sentDuring } from '../../support/database/sent-statements.js';
import type { PlanNode } from '../../support/database/sent-statements.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
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
    applyOperations(database, [{ shopId: shop.shopId, materialId: id, operations }], { nowMs: Date.now() });
  const read = (filter: Partial<LedgerFilter> = {}, limit = 250, position?: LedgerPosition) =>
    readLedger(database, { shopId: shop.shopId, materialId }, { ...everything, ...filter }, { position, limit });
  const shown = (records: readonly LedgerRecord[]) =>
    records.map(({ locationId, sequence }) => `${locationId.slice(-1)}.${sequence}`).join(' ');

  async function readPages(limit: number, filter: Partial<LedgerFilter>, between: () => Promise<unknown>) {
    const records: LedgerRecord[] = [];
    let position: LedgerPosition | undefined;
    do {
      const page = await read(filter, limit, position);
      expect(page.records.length).to.be.at.most(limit);
      records.push(...page.records);
      position = page.next;
      await between();
    } while (position !== undefined);
    return records;
  }

  it('shows the rows of a request in the opposite of their order, with all that was booked', async () => {
    const rows: AdjustmentRow[] = [
      { locationId: shop.locationIds[1] ?? '', absolute: 2_500_000, reason: 'count', reference: 'R-1' },
      { locationId: shop.locationIds[0] ?? '', delta: 1_000_000 },
      { locationId: shop.locationIds[1] ?? '', delta: -9_000_000 },
    ];
    const operation = { ...operationOf({ kind: 'adjust', rows }), keyId: 'key' };
    await book([operation]);
    const { records, next } = await read();
    expect(next).to.equal(undefined);
    expect(shown(records)).to.equal('2.2 1.1 2.1');
    const { atMs = 0, levelId = '' } = records[0] ?? {};
    expect(records[0]).to.deep.equal({
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
    expect(records[2]).to.deep.include({ requested: { absolute: 2_500_000 }, reason: 'count', reference: 'R-1' });
    expect(Math.abs(Date.now() - atMs)).to.be.below(60_000);
  });

  it('follows each level entry by entry, also where operations of one transaction ran against the order of their ids', async () => {
    const [first, second, third] = [at(0, 1), at(0), at(1, 0)];
    await book([third, first, second]);
    const { records } = await read();
    for (const place of ['1', '2']) {
      const sequences = records.filter(({ locationId }) => locationId.endsWith(place)).map(({ sequence }) => sequence);
      expect(sequences).to.deep.equal(sequences.toSorted((one, other) => other - one));
    }
    expect(records).to.have.length(5);
  });

  for (const limit of [1, 2, 3, 7]) {
    it(`pages by ${limit} show every entry once and in order, while new ones are booked between them`, async () => {
      await book([at(0, 1, 2), at(1), at(2, 2)].toReversed());
      await book([at(0)]);
      await book([at(1, 0), at(2, 1)].toReversed());
      const { records: whole } = await read();
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
    expect((await read({ locationId: 'nowhere' })).records).to.deep.equal([]);
  });

  it('of a stretch of time shows what was booked from its first to its last millisecond', async () => {
    for (let count = 0; count < 5; count += 1) await book([at(0, 1)]);
    const { records } = await read();
    const times = [...new Set(records.map(({ atMs }) => atMs))];
    // Each transaction on a material has a time of its own, however fast they follow each other.
    expect(times).to.have.length(5);
    const [, toMs = 0, , fromMs = 0] = times;
    expect(shown((await read({ fromMs, toMs })).records)).to.equal('2.4 1.4 2.3 1.3 2.2 1.2');
    expect(shown(await readPages(2, { fromMs, toMs }, () => Promise.resolve()))).to.equal('2.4 1.4 2.3 1.3 2.2 1.2');
    expect((await read({ fromMs: toMs, toMs: fromMs })).records).to.deep.equal([]);
    expect((await read({ toMs: 0 })).records).to.deep.equal([]);
    expect((await read({ fromMs: Date.now() + 60_000 })).records).to.deep.equal([]);
  });

  it('keeps its times ascending where the clock was set back', async () => {
    await book([at(0)]);
    // As if the booking before this one had been made by a clock an hour ahead.
    await database.raw(`UPDATE stock SET updated_at = updated_at + interval '1 hour' WHERE shop_id = ?`, [shop.shopId]);
    await database.raw(`UPDATE ledger SET at = at + interval '1 hour' WHERE shop_id = ?`, [shop.shopId]);
    await book([at(0)]);
    const { records } = await read();
    expect(shown(records)).to.equal('1.2 1.1');
    expect((records[0]?.atMs ?? 0) - (records[1]?.atMs ?? 0)).to.equal(1);
  });

  it('of a request shows what it booked, of this material of this shop, and nothing of another', async () => {
    const operation = at(0, 1, 0);
    const elsewhere = at(0);
    await book([at(0), operation, at(1)]);
    await book([elsewhere], shop.materialIds[1]);
    const { records } = await read({ requestId: operation.id });
    expect(shown(records)).to.equal('1.3 2.1 1.2');
    expect(shown(await readPages(1, { requestId: operation.id }, () => book([at(0)])))).to.equal('1.3 2.1 1.2');
    expect((await read({ requestId: elsewhere.id })).records).to.deep.equal([]);
    const other = await createTestShop(database, { materialIds: [materialId] });
    const ref = { shopId: other.shopId, materialId };
    const theirs = await readLedger(database, ref, { ...everything, requestId: operation.id }, firstPage);
    expect(theirs.records).to.deep.equal([]);
  });

  it('of a request has both ends of a time within, and nothing of an operation that came by no request', async () => {
    const [operation, without] = [at(0), { ...at(0), requestId: null }];
    await book([operation, without]);
    const [atMs = 0] = (await read()).records.map((record) => record.atMs);
    const within = await read({ requestId: operation.id, fromMs: atMs, toMs: atMs });
    expect(within.records).to.have.length(1);
    expect((await read({ requestId: operation.id, fromMs: atMs + 1 })).records).to.deep.equal([]);
    expect((await read({ requestId: without.id })).records).to.deep.equal([]);
  });

  it('costs the same however long it is: blocks read of 50,000 entries a level as of 500', async () => {
    const [few, many] = [await blocksRead(500), await blocksRead(50_000)];
    // Halving takes some seven steps more, of four blocks each, for three bounds of three levels.
    for (const [name, blocks] of Object.entries(many)) expect(blocks, name).to.be.below((few[name] ?? 0) + 300);
    expect(many).to.have.property('request').below(20);
  });

  it('of many levels, which changed unequally often, comes whole and in order, page by page', async () => {
    await useManyLevels({ levels: 40, entriesMax: 25 });
    const whole = (await read({}, 5_000)).records;
    expect(whole).to.have.length(460);
    const [fromMs, toMs] = [whole[300]?.atMs, whole[20]?.atMs];
    const stretch = whole.filter(({ atMs }) => atMs >= (fromMs ?? 0) && atMs <= (toMs ?? 0));
    for (const limit of [3, 17, 90]) {
      const nothing = () => Promise.resolve();
      expect(shown(await readPages(limit, {}, nothing)), `by ${limit}`).to.equal(shown(whole));
      expect(shown(await readPages(limit, { fromMs, toMs }, nothing)), `by ${limit}`).to.equal(shown(stretch));
    }
  });

  it('of many levels takes about as many entries as a page has, and not as many of each level', async () => {
    await useManyLevels({ levels: 400, entriesMax: 100 });
    const { next } = await read({}, 250);
    // For each of 400 levels one at a depth, some four of halving and, on later pages, seven for each of two bounds.
    expect(await rowsRead(database, 'ledger', () => read({}, 250))).to.be.within(251, 4_000);
    expect(await rowsRead(database, 'ledger', () => read({}, 250, next))).to.be.within(251, 10_000);
  });

  it('of a location looks its level up, however many levels the material has', async () => {
    await useManyLevels({ levels: 400, entriesMax: 5 });
    const [locationId] = shop.locationIds;
    expect(await rowsRead(database, 'levels', () => read({ locationId }, 50))).to.equal(1);
  });

  /** A material with levels that have 1 to `entriesMax` entries, in turn. */
  async function useManyLevels({ levels, entriesMax }: { levels: number; entriesMax: number }): Promise<void> {
    shop = await createTestShop(database, { locations: levels });
    [materialId = ''] = shop.materialIds;
    await fill(database, shop.shopId, materialId, { entries: entriesMax, startMs: Date.UTC(2026, 0, 1) });
    await database.raw(
      `WITH unequal AS (
         UPDATE levels SET sequence = 1 + CAST(location_id AS integer) % :entriesMax, quantity = 1
         WHERE shop_id = :shopId RETURNING id, sequence
       ),
       shorter AS (
         DELETE FROM ledger g USING unequal WHERE g.level_id = unequal.id AND g.sequence > unequal.sequence
       )
       UPDATE ledger g SET at = at + unequal.id % 30 * interval '3 milliseconds'
       FROM unequal WHERE g.level_id = unequal.id AND g.sequence <= unequal.sequence`,
      { entriesMax, shopId: shop.shopId },
    );
  }

  const firstPage = { position: undefined, limit: 50 };

  /** What Postgres reads for each kind of page of a shop with so many entries a level, on tables without statistics. */
  async function blocksRead(entries: number): Promise<Record<string, number>> {
    shop = await createTestShop(database);
    [materialId = ''] = shop.materialIds;
    const startMs = Date.UTC(2026, 0, 1);
    await fill(database, shop.shopId, materialId, { entries, startMs });
    const middleMs = startMs + entries * 5;
    const [request] = (await read({}, 1)).records;
    const pages: Record<string, () => Promise<unknown>> = {
      first: () => read({}, 50),
      middle: () => read({}, 50, { atMs: middleMs, skipped: 2 }),
      stretch: () => read({ fromMs: startMs + 100, toMs: middleMs }, 50),
      location: () => read({ locationId: shop.locationIds[0] ?? '' }, 50, { atMs: middleMs, skipped: 0 }),
      request: () => read({ requestId: request?.operationId ?? '' }),
    };
    const blocks: Record<string, number> = {};
    for (const [name, page] of Object.entries(pages)) blocks[name] = await blocksOf(database, page);
    return blocks;
  }
});

/** Entries of a level 10 ms apart, all levels at once, as a single statement; consistent, but booked by nobody. */
async function fill(
  database: Database,
  shopId: number,
  materialId: string,
  { entries, startMs }: { entries: number; startMs: number },
): Promise<void> {
  await database.raw(
    `INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
     SELECT shop_id, ?, id, nextval('levels_id_seq'), ?, ?, now() FROM locations WHERE shop_id = ?`,
    [materialId, entries, entries, shopId],
  );
  await database.raw(
    `INSERT INTO ledger (shop_id, level_id, sequence, op_id, row_index, requested_delta, previous, applied, level_after,
                         clamped, channel, request_id, at)
     SELECT l.shop_id, l.id, n, drawn.id, 0, 1, n - 1, 1, n, false, 'rest', drawn.id,
            to_timestamp(? / 1000.0) + n * interval '10 milliseconds'
     FROM levels l CROSS JOIN generate_series(1, ?::integer) AS n
     CROSS JOIN LATERAL (SELECT md5(l.id || '.' || n)::uuid AS id) AS drawn
     WHERE l.shop_id = ?`,
    [startMs, entries, shopId],
  );
}

/** The blocks that Postgres touches for the last statement that `use` sends. */
async function blocksOf(database: Database, use: () => Promise<unknown>): Promise<number> {
  const plan = await planAsRun(database, use);
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

/** The rows of a table that Postgres looks at for it, each as often as it does, and also where it throws them away. */
async function rowsRead(database: Database, table: string, use: () => Promise<unknown>): Promise<number> {
  const looked = (node: PlanNode & { 'Rows Removed by Filter'?: number }): number => {
    const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
    const own = node['Relation Name'] === table ? rows * (node['Actual Loops'] ?? 0) : 0;
    return (node.Plans ?? []).reduce((sum, child) => sum + looked(child), own);
  };
  return looked(await planAsRun(database, use));
}

async function planAsRun(database: Database, use: () => Promise<unknown>): Promise<PlanNode> {
  const last = (await sentDuring(database, use)).at(-1) ?? expect.fail('nothing was sent');
  return planOf(database, last, { isRun: true });
}

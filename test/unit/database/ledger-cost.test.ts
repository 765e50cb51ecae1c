import { expect } from 'chai';
import { readLedger } from '../../../shared/database/ledger.js';
import type { LedgerFilter, LedgerPosition } from '../../../shared/database/ledger.js';
import { useDatabase } from '../../support/database/database.js';
import { planOf, rowsLookedAt, sentDuring } from '../../support/database/sent-statements.js';
import type { PlanNode } from '../../support/database/sent-statements.js';
import { createUnequalLevels, fillLedger } from '../../support/shop/filled-ledger.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const everything: LedgerFilter = { locationId: undefined, requestId: undefined, fromMs: undefined, toMs: undefined };

describe('a page of the ledger', () => {
  const test = useDatabase({ pipeline: true });
  let shop: TestShop;

  const read = (filter: Partial<LedgerFilter>, limit: number, position?: LedgerPosition) => {
    const ref = { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '' };
    return readLedger(test.database, ref, { ...everything, ...filter }, { position, limit });
  };

  it('costs the same however long that is: blocks read of 50,000 entries a level as of 500', async () => {
    const [few, many] = [await blocksRead(500), await blocksRead(50_000)];
    // Halving takes some seven steps more, of four blocks each, for three bounds of three levels.
    for (const [name, blocks] of Object.entries(many)) expect(blocks, name).to.be.below((few[name] ?? 0) + 300);
    expect(many).to.have.property('request').below(20);
  });

  describe('of many levels', () => {
    before(async () => {
      shop = await createUnequalLevels(test.database, { levels: 400, entriesMax: 100 });
    });

    it('takes about as many entries as the page has, and not as many of each level', async () => {
      const next = (await read({}, 250))?.next;
      // For each of 400 levels one at a depth, some four of halving and, on later pages, seven for each of two bounds.
      expect(await rowsRead('ledger', () => read({}, 250))).to.be.within(251, 4_000);
      expect(await rowsRead('ledger', () => read({}, 250, next))).to.be.within(251, 10_000);
    });

    it('is not read if its position skips more than was booked at that time', async () => {
      const next = (await read({}, 250))?.next;
      const { atMs, skipped } = next ?? { atMs: 0, skipped: 0 };
      const booked = (await read({ fromMs: atMs, toMs: atMs }, 5_000))?.entries.length ?? 0;
      expect(booked).to.be.greaterThan(skipped);
      expect((await read({}, 1, { atMs, skipped: booked }))?.entries[0]?.atMs).to.be.below(atMs);
      for (const nowhere of [
        { atMs, skipped: booked + 1 },
        { atMs: atMs + 86_400_000, skipped: 9_999_999 },
      ]) {
        const use = async () => expect(await read({}, 250, nowhere)).to.equal(undefined);
        // Some seven of each level to find each of two bounds.
        expect(await rowsRead('ledger', use)).to.be.below(400 * 14);
      }
      // Nor with filters under which there are fewer.
      expect(await read({ toMs: atMs - 1 }, 250, next)).to.equal(undefined);
      expect(await read({ locationId: shop.locationIds[0] }, 250, { atMs, skipped: booked })).to.equal(undefined);
      const requestId = '01a1fb75-d2c4-7629-9697-7d9c77dc57df';
      expect(await read({ requestId }, 250, next)).to.equal(undefined);
    });

    it('of one location looks its level up', async () => {
      const [locationId] = shop.locationIds;
      expect(await rowsRead('levels', () => read({ locationId }, 50))).to.equal(1);
    });
  });

  /** What Postgres reads for each kind of page of a shop with so many entries a level, on tables without statistics. */
  async function blocksRead(entries: number): Promise<Record<string, number>> {
    shop = await createTestShop(test.database);
    const startMs = Date.UTC(2026, 0, 1);
    await fillLedger(test.database, shop.shopId, shop.materialIds[0] ?? '', { entries, startMs });
    const middleMs = startMs + entries * 5;
    const [request] = (await read({}, 1))?.entries ?? [];
    const pages: Record<string, () => Promise<unknown>> = {
      first: () => read({}, 50),
      middle: () => read({}, 50, { atMs: middleMs, skipped: 2 }),
      stretch: () => read({ fromMs: startMs + 100, toMs: middleMs }, 50),
      location: () => read({ locationId: shop.locationIds[0] }, 50, { atMs: middleMs, skipped: 0 }),
      request: () => read({ requestId: request?.operationId }, 250),
    };
    const blocks: Record<string, number> = {};
    for (const [name, page] of Object.entries(pages)) blocks[name] = blocksOf(await planAsRun(page));
    return blocks;
  }

  async function rowsRead(table: string, use: () => Promise<unknown>): Promise<number> {
    return rowsLookedAt(await planAsRun(use), table);
  }

  async function planAsRun(use: () => Promise<unknown>): Promise<PlanNode> {
    const last = (await sentDuring(test.database, use)).at(-1) ?? expect.fail('nothing was sent');
    return planOf(test.database, last, { isRun: true });
  }
});

/** Those that Postgres touches. */
function blocksOf(plan: PlanNode): number {
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { addOne } from '../support/shop/change.js';
import { scrape } from '../support/metrics/exposition.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;
const mismatches = 'raw_materials_ledger_mismatches_total';
const checked = 'raw_materials_ledger_checked_total';

describe('the background check of the ledger', () => {
  let service: Service;
  let database: Database;
  useService({ env: { ADMIN_PORT: '0' } }, (started) => ({ service, database } = started));

  const ofWorker = () => scrape(service.workers[0]?.adminUrl);
  const changeEach = async ({ materialIds, ...shop }: TestShop) => {
    for (const materialId of materialIds) {
      const { status } = await addOne(service.baseUrls[0] ?? '', { ...shop, materialIds }, { materialId });
      expect(status).to.equal(200);
    }
  };
  /** Resolves when `count` more materials than `since` have been looked at. */
  const untilChecked = async (count: number, since: number) => {
    await until(async () => (await ofWorker()).sum(checked, { what: 'materials' }) >= since + count, {
      deadlineMs: soonMsMax,
      what: `${String(count)} materials to be checked`,
    });
  };

  it('looks at what was changed, and finds it right', async () => {
    const shop = await createTestShop(database, { materials: 3 });
    const before = await ofWorker();
    await changeEach(shop);
    await untilChecked(3, before.sum(checked, { what: 'materials' }));
    const after = await ofWorker();
    expect(after.sum(checked, { what: 'levels' }) - before.sum(checked, { what: 'levels' })).to.be.at.least(3);
    expect(after.sum(checked, { what: 'entries' }) - before.sum(checked, { what: 'entries' })).to.be.at.least(3);
    expect(after.sum(mismatches)).to.equal(0);
  });

  it('counts and logs a level that was changed past the ledger, once, however often it is looked at', async () => {
    const shop = await createTestShop(database, { materials: 1 });
    const atFirst = (await ofWorker()).sum(checked, { what: 'materials' });
    await changeEach(shop);
    await untilChecked(1, atFirst);
    await database.raw('UPDATE levels SET quantity = quantity + 1 WHERE shop_id = ?', [shop.shopId]);
    const before = await ofWorker();
    await changeEach(shop);
    await until(async () => (await ofWorker()).sum(mismatches) > 0, { deadlineMs: soonMsMax, what: 'a mismatch' });
    const seen = await ofWorker();
    // The apply step went on from the level as it stood: the chain has a break, and the total is not the sum.
    expect(seen.sum(mismatches, { kind: 'broken-chain' })).to.equal(1);
    expect(seen.sum(mismatches, { kind: 'total-not-sum' })).to.equal(1);
    const lines = await until(
      () => {
        const told = service.workers[0]?.logs().filter((line) => line.includes('The ledger does not add up')) ?? [];
        return told.length >= 2 && told;
      },
      { deadlineMs: soonMsMax, what: 'two lines in the log' },
    );
    expect(lines[0])
      .to.contain(`"shopId":${String(shop.shopId)}`)
      .and.to.contain(shop.materialIds[0] ?? 'none');
    const checkedBefore = before.sum(checked, { what: 'materials' });
    await untilChecked(1, checkedBefore);
    await changeEach(shop);
    await untilChecked(2, checkedBefore);
    expect((await ofWorker()).sum(mismatches)).to.equal(2);
  });

  it('counts each material that differs, though another has differed in the same way', async () => {
    const shop = await createTestShop(database, { materials: 2 });
    const atFirst = (await ofWorker()).sum(checked, { what: 'materials' });
    await changeEach(shop);
    await untilChecked(2, atFirst);
    await database.raw('UPDATE levels SET quantity = quantity + 1 WHERE shop_id = ?', [shop.shopId]);
    const wrongTotals = async () => (await ofWorker()).sum(mismatches, { kind: 'total-not-sum' });
    const before = await wrongTotals();
    await changeEach(shop);
    await until(async () => (await wrongTotals()) === before + 2, { deadlineMs: soonMsMax, what: 'two mismatches' });
  });
});

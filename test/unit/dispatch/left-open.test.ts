import { expect } from 'chai';
import { createLeftOpen } from '../../../api/dispatch/left-open.js';
import type { LeftOpen } from '../../../api/dispatch/left-open.js';
import type { Database } from '../../../shared/database/connect.js';
import type { OperationRef } from '../../../shared/database/operations.js';
import { useDatabase } from '../../support/database/database.js';
import { withLockedMaterial } from '../../support/database/broken-storage.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const [patienceMs, expiryMs] = [15_000, 10 * 60_000];
const keptMax = 1_000;

describe('what was answered 504 because of a lock', () => {
  const postgres = useDatabase({ poolMax: 3 });
  const now = performance.now.bind(performance);
  let shop: TestShop;
  let leftOpen: LeftOpen;
  let cancelledCount: number;
  beforeEach(async () => {
    shop = await createTestShop(postgres.database, { materials: 2 });
    cancelledCount = 0;
    const metrics = { cancelled: (count: number) => (cancelledCount += count) };
    leftOpen = createLeftOpen({ database: postgres.database, metrics });
  });
  afterEach(() => (performance.now = now));

  const later = (ms: number) => (performance.now = () => now() + ms + 1);
  const operation = (index = 0): OperationRef => {
    const { id } = operationOf({ kind: 'adjust', rows: [] });
    return { shopId: shop.shopId, materialId: shop.materialIds[index] ?? '', id };
  };
  /** The ids of the operations on record as cancelled. */
  async function cancelled(): Promise<string[]> {
    const { rows } = await postgres.database.raw<{ rows: { op_id: string }[] }>(
      `SELECT op_id FROM operations WHERE shop_id = ? AND status = 'cancelled' ORDER BY op_id`,
      [shop.shopId],
    );
    return rows.map(({ op_id }) => op_id);
  }

  it('is left to the workers at first, then cancelled as soon as its material can be locked', async () => {
    const [held, free] = [operation(0), operation(1)];
    leftOpen.add(held);
    leftOpen.add(free);
    await leftOpen.cancel();
    expect(await cancelled()).to.deep.equal([]);
    later(patienceMs);
    await withLockedMaterial(postgres.database, held, async () => {
      await leftOpen.cancel();
      expect(await cancelled()).to.deep.equal([free.id]);
    });
    await leftOpen.cancel();
    expect(await cancelled()).to.have.members([held.id, free.id]);
    expect(cancelledCount).to.equal(2);
  });

  it('is tried again after Postgres was away, and never beside itself, however slow that is', async () => {
    let tries = 0;
    const transaction = (work: (transaction: Database) => Promise<unknown>) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error('Connection terminated')) : postgres.database.transaction(work);
    };
    const database = Object.create(postgres.database, { transaction: { value: transaction } }) as Database;
    leftOpen = createLeftOpen({ database, metrics: { cancelled: () => undefined } });
    const open = operation();
    leftOpen.add(open);
    later(patienceMs);
    await leftOpen.cancel();
    await Promise.all([leftOpen.cancel(), leftOpen.cancel()]);
    expect(tries).to.equal(2);
    expect(await cancelled()).to.deep.equal([open.id]);
  });

  it('is left alone once it has expired, as no worker applies it any more', async () => {
    leftOpen.add(operation());
    later(expiryMs);
    await leftOpen.cancel();
    expect(await cancelled()).to.deep.equal([]);
  });

  it('is forgotten, the oldest first, beyond a statement of them', async () => {
    const all = Array.from({ length: keptMax + 1 }, () => operation());
    for (const one of all) leftOpen.add(one);
    later(patienceMs);
    await leftOpen.cancel();
    expect(await cancelled()).to.have.members(all.slice(1).map(({ id }) => id));
  });
});

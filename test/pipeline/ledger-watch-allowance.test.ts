import { expect } from 'chai';
import { pino } from 'pino';
import { startLedgerWatch } from '../../worker/ledger-watch.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;
const [secondMs, rowsASecond] = [1_000, 5];
/** Looked at in one round; a round comes once a second. */
const materialsMax = 20;

describe('the rows that the background check of the ledger may read', () => {
  const postgres = useDatabase();

  it('are also materials without entries: a round of many is made good before the next', async () => {
    const { shopId, materialIds } = await createTestShop(postgres.database, { materials: materialsMax + 1 });
    const rounds: { atMs: number; materials: number }[] = [];
    const watch = startLedgerWatch({
      database: postgres.database,
      logger: pino({ level: 'silent' }),
      metrics: {
        ledgerChecked: ({ materials }) => rounds.push({ atMs: performance.now(), materials }),
        mismatched: () => undefined,
      },
      rowsPerMinute: 60 * rowsASecond,
    });
    try {
      watch.changed(materialIds.map((materialId) => ({ shopId, materialId })));
      await until(() => rounds.length === 2, { deadlineMs: soonMsMax, what: 'the second round' });
      expect(rounds.map(({ materials }) => materials)).to.deep.equal([materialsMax, 1]);
      const [first, second] = rounds.map(({ atMs }) => atMs);
      expect((second ?? 0) - (first ?? 0)).to.be.above((materialsMax / rowsASecond - 1) * secondMs);
    } finally {
      await watch.stop();
    }
  });
});

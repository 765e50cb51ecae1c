import { expect } from 'chai';
import { pino } from 'pino';
import type { Database } from '../../../shared/database/connect.js';
import { startLedgerWatch } from '../../../worker/ledger-watch.js';
import type { LedgerWatch } from '../../../worker/ledger-watch.js';
import { useDatabase } from '../../support/database/database.js';
import { outlivingBytes } from '../../support/memory/outliving.js';
import { databaseWhose } from '../../support/redis/lane-deps.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;

describe('what the background check of the ledger remembers', () => {
  let watch: LedgerWatch;
  beforeEach(() => {
    watch = startLedgerWatch({
      // Not asked before a second has passed; what comes of it then is only logged.
      database: undefined as unknown as Database,
      logger: pino({ level: 'silent' }),
      metrics: { ledgerChecked: () => undefined, mismatched: () => undefined },
      rowsPerMinute: 60_000,
    });
  });
  afterEach(() => watch.stop());

  it('is which materials changed, and nothing of what changed them', async () => {
    const bytes = 8_000;
    let changed = 0;
    const seen = await outlivingBytes(400, () => {
      changed += 1;
      const operations = new Array<number>(bytes / 8).fill(0.5);
      const group = { shopId: 1, materialId: `VMAT-VAR-${String(changed)}`, operations };
      watch.changed([group]);
    });
    expect(seen).to.be.below(bytes / 4);
  });
});

describe('a difference that the background check of the ledger has found', () => {
  const postgres = useDatabase();

  it('is told again while it stands, and once more when it comes back after it was mended', async () => {
    const { shopId, materialIds } = await createTestShop(postgres.database, { materials: 1 });
    const changed = materialIds.map((materialId) => ({ shopId, materialId }));
    const addToTotal = (quantity: number) =>
      postgres.database.raw('UPDATE stock SET total_quantity = total_quantity + ? WHERE shop_id = ?', [
        quantity,
        shopId,
      ]);
    const told: string[] = [];
    /** How many had been told when the last look came to its end, before it told what it had found. */
    let toldBefore = -1;
    const watch = startLedgerWatch({
      database: postgres.database,
      logger: pino({ level: 'silent' }),
      metrics: { ledgerChecked: () => (toldBefore = told.length), mismatched: (kind) => told.push(kind) },
      rowsPerMinute: 60_000,
      toldEveryMs: 1,
    });
    const untilToldMoreThan = (count: number) =>
      until(() => told.length > count, { deadlineMs: soonMsMax, what: `more than ${String(count)} to be told` });
    try {
      await addToTotal(1);
      watch.changed(changed);
      await untilToldMoreThan(2);
      await addToTotal(-1);
      await until(() => toldBefore === told.length, { deadlineMs: soonMsMax, what: 'a look that finds nothing' });
      await addToTotal(1);
      watch.changed(changed);
      await untilToldMoreThan(toldBefore);
      expect(new Set(told)).to.deep.equal(new Set(['total-not-sum']));
    } finally {
      await watch.stop();
    }
  });
});

describe('the background check of the ledger, when it is stopped', () => {
  it('waits for the look under way: its connection is not taken from it', async () => {
    let isAsked = false;
    let answer: (error: Error) => void = () => undefined;
    const acquireConnection = () => {
      isAsked = true;
      return new Promise<never>((_, reject) => (answer = reject));
    };
    const watch = startLedgerWatch({
      database: databaseWhose(acquireConnection),
      logger: pino({ level: 'silent' }),
      metrics: { ledgerChecked: () => undefined, mismatched: () => undefined },
      rowsPerMinute: 60_000,
    });
    watch.changed([{ shopId: 1, materialId: 'VMAT-VAR-a' }]);
    await until(() => isAsked, { deadlineMs: soonMsMax, what: 'a look' });
    let isStopped = false;
    const stopped = watch.stop().then(() => (isStopped = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isStopped).to.equal(false);
    answer(new Error('Connection terminated'));
    await stopped;
  });
});

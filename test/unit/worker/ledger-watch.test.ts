import { expect } from 'chai';
import { pino } from 'pino';
import type { Database } from '../../../shared/database/connect.js';
import { startLedgerWatch } from '../../../worker/ledger-watch.js';
import type { LedgerWatch } from '../../../worker/ledger-watch.js';
import { useDatabase } from '../../support/database/database.js';
import { leftBehindBytes, outlivingBytes } from '../../support/memory/outliving.js';
import { databaseWhose } from '../../support/redis/lane-deps.js';
import { bookStock } from '../../support/shop/book-stock.js';
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

  it('is no more of them than 10,000, however many change meanwhile', async () => {
    let changed = 0;
    const change = () => {
      changed += 1;
      watch.changed([{ shopId: 1, materialId: `VMAT-VAR-${String(changed)}` }]);
    };
    while (changed < 10_000) change();
    // A name takes more than 60.
    expect(await leftBehindBytes(40_000, change)).to.be.below(20);
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

describe('a difference that the background check of the ledger told, and that stands', () => {
  const postgres = useDatabase({ pipeline: true });
  const toldEveryMs = 2_000;
  const locationIds = ['1001', '1002', '1003'];

  /** Materials with a level of 5 at each location; from the first level and total of the first one, SQL took 1. */
  async function damagedShop(materials: number) {
    const { shopId, materialIds } = await createTestShop(postgres.database, { materials });
    const levels = locationIds.map((locationId) => ({ locationId, quantity: 5_000_000 }));
    const stocks = materialIds.map((materialId) => ({ materialId, levels }));
    await bookStock(postgres.database, shopId, stocks);
    const [damaged = ''] = materialIds;
    await postgres.database.raw(
      `UPDATE levels SET quantity = quantity - 1, updated_at = updated_at - interval '1 hour'
       WHERE shop_id = ? AND material_id = ? AND location_id = ?`,
      [shopId, damaged, locationIds[0] ?? ''],
    );
    await postgres.database.raw(
      'UPDATE stock SET total_quantity = total_quantity - 1 WHERE shop_id = ? AND material_id = ?',
      [shopId, damaged],
    );
    return { shopId, damaged, refs: materialIds.map((materialId) => ({ shopId, materialId })) };
  }

  /** Runs a watch, and counts what it tells of a kind and how many materials it has checked. */
  async function withWatch(
    database: Database,
    use: (watch: LedgerWatch, seen: { told: (kind: string) => number; checked: () => number }) => Promise<void>,
  ) {
    const told: string[] = [];
    let checked = 0;
    const watch = startLedgerWatch({
      database,
      logger: pino({ level: 'silent' }),
      metrics: { ledgerChecked: ({ materials }) => void (checked += materials), mismatched: (kind) => told.push(kind) },
      rowsPerMinute: 600_000,
      toldEveryMs,
    });
    try {
      await use(watch, { told: (kind) => told.filter((each) => each === kind).length, checked: () => checked });
    } finally {
      await watch.stop();
    }
  }

  it('is told again though its level is quiet and many others change', async () => {
    const { refs } = await damagedShop(20);
    await withWatch(postgres.database, async (watch, { told }) => {
      watch.changed(refs.slice(0, 1));
      const isTold = (times: number) => () => {
        if (told('level-not-sum') > 0) watch.changed(refs.slice(1));
        return told('level-not-sum') >= times;
      };
      await until(isTold(3), { deadlineMs: soonMsMax, what: 'it to be told three times' });
    });
  });

  it('is told again behind more later entries than a look reads', async () => {
    const { shopId, damaged, refs } = await damagedShop(1);
    const book = (quantity: number) =>
      bookStock(postgres.database, shopId, [
        { materialId: damaged, levels: [{ locationId: locationIds[0] ?? '', quantity }] },
      ]);
    await book(1_000_000);
    await withWatch(postgres.database, async (watch, { told }) => {
      watch.changed(refs);
      await until(() => told('broken-chain') === 1, { deadlineMs: soonMsMax, what: 'the break to be told' });
      for (let count = 2; count <= 102; count += 1) await book(count * 1_000_000);
      const before = told('broken-chain');
      await until(() => told('broken-chain') >= before + 2, { deadlineMs: soonMsMax, what: 'it to be told again' });
    });
  });

  it('is told again after a look that failed', async () => {
    const { refs } = await damagedShop(1);
    const client = postgres.database.client as { acquireConnection: () => Promise<unknown> };
    let isAway = false;
    let failed = 0;
    const acquireConnection = () => {
      if (!isAway) return client.acquireConnection();
      failed += 1;
      return Promise.reject(new Error('Connection terminated'));
    };
    const failing: unknown = Object.create(client, { acquireConnection: { value: acquireConnection } });
    const database = Object.create(postgres.database, { client: { value: failing } }) as Database;
    await withWatch(database, async (watch, { told }) => {
      watch.changed(refs);
      await until(() => told('level-not-sum') === 1, { deadlineMs: soonMsMax, what: 'it to be told' });
      isAway = true;
      await until(() => failed > 0, { deadlineMs: soonMsMax, what: 'a look that fails' });
      isAway = false;
      await until(() => told('level-not-sum') === 2, { deadlineMs: soonMsMax, what: 'it to be told again' });
    });
  });

  it('is told again before what waits', async () => {
    const { shopId, refs } = await damagedShop(1);
    const waiting = Array.from({ length: 1_000 }, (_, index) => ({ shopId, materialId: `VMAT-VAR-${String(index)}` }));
    await withWatch(postgres.database, async (watch, { told, checked }) => {
      watch.changed(refs);
      await until(() => told('level-not-sum') === 1, { deadlineMs: soonMsMax, what: 'it to be told' });
      watch.changed(waiting);
      await until(() => told('level-not-sum') === 2, { deadlineMs: soonMsMax, what: 'it to be told again' });
      expect(checked()).to.be.below(waiting.length / 2);
    });
  });
});

describe('what the background check of the ledger could not read', () => {
  const postgres = useDatabase();

  it('is not looked at again with the next changes', async () => {
    const { shopId, materialIds } = await createTestShop(postgres.database, { materials: 2 });
    const [one = expect.fail(), other = expect.fail()] = materialIds.map((materialId) => ({ shopId, materialId }));
    const checked: number[] = [];
    const client = postgres.database.client as { acquireConnection: () => Promise<unknown> };
    let looks = 0;
    const acquireConnection = () => {
      looks += 1;
      if (looks > 1) return client.acquireConnection();
      watch.changed([other]);
      return Promise.reject(new Error('Connection terminated'));
    };
    const failing: unknown = Object.create(client, { acquireConnection: { value: acquireConnection } });
    const watch = startLedgerWatch({
      database: Object.create(postgres.database, { client: { value: failing } }) as Database,
      logger: pino({ level: 'silent' }),
      metrics: { ledgerChecked: ({ materials }) => checked.push(materials), mismatched: () => undefined },
      rowsPerMinute: 60_000,
    });
    try {
      watch.changed([one]);
      await until(() => checked.length > 0, { deadlineMs: soonMsMax, what: 'the look after the one that failed' });
      expect(checked).to.deep.equal([1]);
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

import { expect } from 'chai';
import { pino } from 'pino';
import type { Database } from '../../../shared/database/connect.js';
import { startLedgerWatch } from '../../../worker/ledger-watch.js';
import type { LedgerWatch } from '../../../worker/ledger-watch.js';
import { outlivingBytes } from '../../support/memory/outliving.js';
import { databaseWhose } from '../../support/redis/lane-deps.js';
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

import { expect } from 'chai';
import { pino } from 'pino';
import type { Database } from '../../../shared/database/connect.js';
import { startLedgerWatch } from '../../../worker/ledger-watch.js';
import { outlivingBytes } from '../../support/memory/outliving.js';

describe('what the background check of the ledger remembers', () => {
  it('is which materials changed, and nothing of what changed them', async () => {
    const watch = startLedgerWatch({
      // Not asked before a second has passed; what comes of it then is only logged.
      database: undefined as unknown as Database,
      logger: pino({ level: 'silent' }),
      metrics: { ledgerChecked: () => undefined, mismatched: () => undefined },
      rowsPerMinute: 60_000,
    });
    try {
      const bytes = 8_000;
      let changed = 0;
      const seen = await outlivingBytes(400, () => {
        changed += 1;
        const operations = new Array<number>(bytes / 8).fill(0.5);
        const group = { shopId: 1, materialId: `VMAT-VAR-${String(changed)}`, operations };
        watch.changed([group]);
      });
      expect(seen).to.be.below(bytes / 4);
    } finally {
      await watch.stop();
    }
  });
});

import { expect } from 'chai';
import { withLockedTable } from '../support/database/broken-storage.js';
import { ask, useHttpService } from '../support/http/http-service.js';
import { inventoryPath, listPath } from '../support/http/material-paths.js';
import { expectData } from '../support/http/reply.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;
/** Longer than an answer of Postgres counts: from then on a health that cannot ask refuses every write. */
const heldMs = 2_500;
const listsAtOnce = 12;
/** No read is given up before the table is free. */
const READ_TIMEOUT_MS = '600000';
/** Of ten connections the process keeps three for itself, and one shop never gets two of the others. */
const shopMax = 5;

describe('lists of one shop that Postgres is slow to answer', () => {
  const http = useHttpService();

  it('hold up no write, of whatever shop, and no read of another', async () => {
    const [busy, other] = [await createTestShop(http.database), await createTestShop(http.database)];
    const write = ({ materialIds: [id = ''], locationIds: [locationId], writeKey: key }: TestShop) => {
      const body = { updates: [{ locationId, delta: 1 }] };
      return { method: 'PATCH', path: inventoryPath(id), key, body };
    };
    await http.withApi({ READ_TIMEOUT_MS }, async ({ baseUrl }) => {
      // Creates the levels, because the first booking of a level looks at its material.
      for (const shop of [busy, other]) expectData(await ask(baseUrl, write(shop)), 'batch');
      let lists: Promise<unknown> = Promise.resolve();
      await withLockedTable(http.database, 'materials', async () => {
        const list = { path: listPath, key: busy.readKey };
        lists = Promise.all(Array.from({ length: listsAtOnce }, () => ask(baseUrl, list)));
        await until(async () => (await waitingReads()) === shopMax, { deadlineMs: soonMsMax, what: 'the lists' });
        const endMs = performance.now() + heldMs;
        do {
          for (const shop of [busy, other]) expectData(await ask(baseUrl, write(shop)), 'batch');
          const levels = { path: inventoryPath(other.materialIds[0] ?? ''), key: other.readKey };
          expectData(await ask(baseUrl, levels), 'levels');
        } while (performance.now() < endMs);
        expect(await waitingReads(), 'of all that it asked').to.equal(shopMax);
      });
      await lists;
    });
  });

  /** How many reads of the API wait in Postgres for the table. */
  async function waitingReads(): Promise<number> {
    const { rows } = await http.database.raw<{ rows: { count: number }[] }>(
      `SELECT count(*)::integer AS count FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'raw-materials-api' AND wait_event_type = 'Lock'`,
    );
    return rows[0]?.count ?? 0;
  }
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { createBill } from '../../../shared/database/bills.js';
import { bookStock } from '../../support/shop/book-stock.js';
import { useDatabase } from '../../support/database/database.js';
import { connectPlatform } from '../../support/shop/platform.js';
import { createTestShop } from '../../support/shop/shop.js';
import { createSync, domain, expectLocations, readMirror, readShop } from '../mirror/fixtures.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createCli } from './run-manage.js';

const handbook = readFileSync(new URL('../../../shared/manage/README.md', import.meta.url), 'utf8');
const [, fromHeading = ''] = handbook.split('## Closing a shop\n');
const [section = ''] = fromHeading.split(/^## /m);
/** What the handbook has an operator run: to remove what was mirrored, and to delete all of a shop. */
const [mirrored = '', everything = ''] = [...section.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, sql = '']) => sql);

describe('the statements to close a shop', () => {
  shutNetwork();
  const postgres = useDatabase({ poolMax: 2, pipeline: true });

  /** A shop with something in every table: of three mirrored variants, a bill needs the second. */
  async function createFullShop(): Promise<number> {
    const { database } = postgres;
    const { shopId, locationIds, materialIds } = await createTestShop(database, { materials: 2 });
    const levels = locationIds.map((locationId) => ({ locationId, quantity: 5_000_000 }));
    for (const materialId of materialIds) await bookStock(database, shopId, [{ materialId, levels }]);
    await connectPlatform(database, shopId, domain, 'token-of-the-shop');
    expect(await sync(shopId)).to.include({ status: 'complete' });
    const components = ['2', materialIds[0] ?? ''].map((materialId) => ({ materialId, quantity: 1_000_000 }));
    await createBill(database, shopId, { id: 'b', kind: 'bill_of_materials', name: 'b', components });
    return shopId;
  }

  async function sync(shopId: number) {
    expectLocations();
    onVariants(null).reply(200, variantsReply([1, 2, 3].map((id) => variantNode(id))));
    return createSync(postgres.database).run(await readShop(postgres.database, shopId));
  }

  const manage = async (...args: string[]) => (await createCli({ DATABASE_URL: postgres.url }).run(args)).code;

  /** As psql does with `-v shop=…`. */
  async function run(sql: string, shopId: number): Promise<void> {
    expect(sql, 'the statements of the handbook').to.not.equal('');
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await client.query(sql.replaceAll(':shop', String(shopId))).finally(() => client.end());
  }

  /** How many rows of the shop there are, by table: of each that the catalogue knows to have shops. */
  async function rowsOf(shopId: number): Promise<Record<string, number>> {
    const { rows: tables } = await postgres.database.raw<{ rows: { name: string }[] }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'shop_id' ORDER BY table_name`,
    );
    const counts = [
      ...tables.map(({ name }) => [name, `${name} WHERE shop_id = :shopId`] as const),
      ['shops', 'shops WHERE id = :shopId'] as const,
      ['facet_counts', 'facet_counts c JOIN facets f ON f.id = c.facet_id WHERE f.shop_id = :shopId'] as const,
    ].map(([name, rows]) => `SELECT '${name}' AS name, count(*)::integer AS count FROM ${rows}`);
    const { rows } = await postgres.database.raw<{ rows: { name: string; count: number }[] }>(
      counts.join(' UNION ALL '),
      { shopId },
    );
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  }

  it('remove what was mirrored but for what a bill needs, and a platform that comes back brings it in again', async () => {
    const [shopId, other] = [await createFullShop(), await createFullShop()];
    const [before, ofOther] = [await rowsOf(shopId), await rowsOf(other)];
    expect(await manage('shops', 'set', String(shopId), '--no-platform')).to.equal(0);
    await run(mirrored, shopId);
    const ids = (await readMirror(postgres.database, shopId)).materials.map(({ id }) => String(id));
    expect(ids.filter((id) => !id.startsWith('VMAT-'))).to.deep.equal(['2']);
    const { levels, ledger, locations } = before;
    expect(await rowsOf(shopId)).to.include({ materials: 3, stock: 3, levels, ledger, locations });
    expect(await rowsOf(other)).to.deep.equal(ofOther);
    expect(await manage('verify')).to.equal(0);

    await connectPlatform(postgres.database, shopId, domain, 'token-of-the-shop');
    expect(await sync(shopId)).to.include({ status: 'complete', resumed: false, goneCount: 0 });
    expect(await rowsOf(shopId)).to.include({ materials: 5, platform_sightings: 4 });
    expect(await manage('verify')).to.equal(0);
  });

  it('delete all of a shop but the records that workers delete, and nothing of another', async () => {
    const [shopId, other] = [await createFullShop(), await createFullShop()];
    const ofOther = await rowsOf(other);
    const before = Object.entries(await rowsOf(shopId));
    expect(before.filter(([, count]) => count === 0)).to.deep.equal([]);
    expect(before.length).to.be.greaterThan(10);
    await run(everything, shopId);
    const left = before.map(([table, count]) => [table, table === 'operations' ? count : 0]);
    expect(await rowsOf(shopId)).to.deep.equal(Object.fromEntries(left));
    expect(await rowsOf(other)).to.deep.equal(ofOther);
    expect(await manage('verify')).to.equal(0);
  });
});

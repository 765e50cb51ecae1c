import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { listSyncs } from '../../../shared/database/platform-syncs.js';
import { useDatabase } from '../../support/database/database.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';
import { until } from '../../support/time/until.js';
import { createSync, createConnectedShop, expectLocations } from './fixtures.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';

describe('the mirror of a platform that was left by very many', () => {
  shutNetwork();
  const postgres = useDatabase();
  const onOneConnection = useDatabase({ poolMax: 1 });

  // 6 s in all, more than a statement has (5 s), but 1 s for each batch, which leaves time if the host takes the CPU.
  before(() =>
    postgres.database.raw(`
      CREATE FUNCTION mark_slowly() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
      CREATE TRIGGER slow BEFORE UPDATE ON platform_sightings
      FOR EACH ROW WHEN (NEW.id LIKE '%000') EXECUTE FUNCTION mark_slowly()`),
  );

  /** A shop of whose 60,000 variants the platform is about to list none. */
  async function leftShop() {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    await database.raw(
      `INSERT INTO platform_sightings (shop_id, kind, id, generation)
       SELECT ?, 'variant', CAST(number AS text), 0 FROM generate_series(100001, 160000) AS number`,
      [shop.id],
    );
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    return shop;
  }

  it('comes to its end, though to mark them all takes longer than a statement may', async () => {
    const { database } = postgres;
    const shop = await leftShop();
    const outcome = await createSync(database).run(shop);
    expect(outcome).to.include({ status: 'complete', goneCount: 60_000 });
    expect(outcome.status === 'complete' && outcome.gone, 'what is named of them').to.have.lengthOf(100);
  });

  it('gives up after a batch where its process is to end, with nothing marked, and ends when run again', async () => {
    const { database } = postgres;
    const shop = await leftShop();
    const { run } = createSync(database);
    const abort = new AbortController();
    const running = run(shop, { signal: abort.signal });
    await until(() => isMarking(database), { what: 'the first batch', deadlineMs: 20_000 });
    abort.abort('SIGTERM');
    expect(await running).to.include({ status: 'interrupted' });
    const sync = (await listSyncs(database)).get(shop.id);
    expect(sync).to.include({ phase: 'ending', problem: null, isRunning: false });
    expect(await database('platform_sightings').where({ shop_id: shop.id }).whereNotNull('gone_since')).to.deep.equal(
      [],
    );
    expect(await run(shop)).to.include({ status: 'complete', resumed: true, goneCount: 60_000 });
  });

  it('removes none where its process is to end between two batches, and all when run again', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    await addVariants(database, shop.id, { from: 10_001, to: 10_600, generation: 0 });
    const { run } = createSync(database);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    expect(await run(shop)).to.include({ status: 'complete', goneCount: 600 });
    const abort = new AbortController();
    const { removing } = await database.transaction(async (other) => {
      // Of the first batch, which waits for it.
      await other.raw(`SELECT 1 FROM materials WHERE shop_id = ? AND id = '10001' FOR UPDATE`, [shop.id]);
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1)]));
      const started = { removing: run(shop, { removeGone: true, signal: abort.signal }) };
      await untilWaiting(database, 1);
      abort.abort('SIGTERM');
      return started;
    });
    expect(await removing).to.include({ status: 'interrupted' });
    expect(await database('materials').where({ shop_id: shop.id })).to.have.lengthOf(601);
    expect(await run(shop, { removeGone: true })).to.include({ status: 'complete', removedCount: 600, goneCount: 0 });
  });

  it('gives up where its process is to end while it looks for what no run has ever seen', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    const { run } = createSync(database);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    expect(await run(shop)).to.include({ status: 'complete' });
    await database('platform_syncs').where({ shop_id: shop.id }).update({ phase: 'ending' });
    expect(await run(shop, { signal: AbortSignal.abort() })).to.include({ status: 'interrupted' });
    expect(await run(shop)).to.include({ status: 'complete', resumed: true });
  });

  for (const [when, isKnown] of [
    // First, since it is for a shop that has most of the table.
    ['where statistics know of the shop, and of none that is gone', true],
    ['after a first mirroring, of which no statistics know', false],
  ] as const) {
    it(`removes them in a time that grows with their number alone, whatever else the shop has, ${when}`, async () => {
      const { database } = onOneConnection;
      await database.raw('ALTER TABLE platform_sightings SET (autovacuum_enabled = false)');
      const shop = await createConnectedShop(database);
      await addVariants(database, shop.id, { from: 10_001, to: 25_000, generation: 1 });
      const everyThird =
        'UPDATE platform_sightings SET generation = 0 WHERE shop_id = ? AND CAST(id AS integer) % 3 = 0';
      await database.raw(everyThird, [shop.id]);
      if (isKnown) await database.raw('VACUUM (ANALYZE) platform_sightings, levels, bill_components');
      const sightings = Number((await database('platform_sightings').count({ count: '*' }))[0]?.count);
      const readBefore = await sightingsRead(database);
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1)]));
      const outcome = await createSync(database).run(shop, { removeGone: true });
      expect(outcome).to.include({ status: 'complete', removedCount: 5_000, goneCount: 0 });
      const { rows } = await database.raw<{ rows: object[] }>(
        `SELECT (SELECT count(*) FROM materials WHERE shop_id = :shopId)::integer AS materials,
                (SELECT count(*) FROM stock WHERE shop_id = :shopId)::integer AS stock,
                (SELECT count(*) FROM platform_sightings
                 WHERE shop_id = :shopId AND kind = 'variant')::integer AS sightings`,
        { shopId: shop.id },
      );
      expect(rows).to.deep.equal([{ materials: 10_001, stock: 10_001, sightings: 10_001 }]);
      expect((await sightingsRead(database)) - readBefore).to.be.below(8 * sightings);
    });
  }
});

async function isMarking(database: Database): Promise<boolean> {
  const { rows } = await database.raw<{ rows: object[] }>(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
       AND query LIKE '%SET gone_since = now()%'`,
  );
  return rows.length > 0;
}

/** Platform materials as a run of this generation has brought them in. */
async function addVariants(
  database: Database,
  shopId: number,
  { from, to, generation }: { from: number; to: number; generation: number },
): Promise<void> {
  await database.raw(
    `WITH given AS (SELECT CAST(number AS text) AS id FROM generate_series(CAST(:from AS integer), :to) AS number),
     made AS (
       INSERT INTO materials (shop_id, id, origin, product_name) SELECT :shopId, id, 'platform', id FROM given RETURNING id
     ), stocked AS (INSERT INTO stock (shop_id, material_id) SELECT :shopId, id FROM made)
     INSERT INTO platform_sightings (shop_id, kind, id, generation) SELECT :shopId, 'variant', id, :generation FROM given`,
    { shopId, from, to, generation },
  );
}

/** How many rows of the table were read so far, by indexes and without, as this one connection has counted them. */
async function sightingsRead(database: Database): Promise<number> {
  await database.raw('SELECT pg_stat_force_next_flush()');
  const { rows } = await database.raw<{ rows: [{ count: string }] }>(
    "SELECT idx_tup_fetch + seq_tup_read AS count FROM pg_stat_user_tables WHERE relname = 'platform_sightings'",
  );
  return Number(rows[0].count);
}

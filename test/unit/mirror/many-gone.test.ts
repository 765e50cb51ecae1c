import { expect } from 'chai';
import { useDatabase } from '../../support/database.js';
import { createSync, createConnectedShop, expectLocations } from './fixtures.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';

describe('the mirror of a platform that was left by very many', () => {
  shutNetwork();
  const postgres = useDatabase();

  it('comes to its end, though to mark them all takes longer than a statement may', async () => {
    const { database } = postgres;
    const shop = await createConnectedShop(database);
    await database.raw(
      `INSERT INTO platform_sightings (shop_id, kind, id, generation)
       SELECT ?, 'variant', CAST(number AS text), 0 FROM generate_series(10001, 30000) AS number`,
      [shop.id],
    );
    // 6 s in all, where a statement has 5: as slow as 200,000 of them are, for whom a test has no time.
    await database.raw(`
      CREATE FUNCTION mark_slowly() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$;
      CREATE TRIGGER slow BEFORE UPDATE ON platform_sightings
      FOR EACH ROW WHEN (NEW.id LIKE '%000') EXECUTE FUNCTION mark_slowly()`);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    const outcome = await createSync(database).run(shop);
    expect(outcome).to.include({ status: 'complete', goneCount: 20_000 });
  });
});

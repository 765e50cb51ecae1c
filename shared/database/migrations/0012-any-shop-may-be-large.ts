import type { Knex } from 'knex';

/**
 * What the planner expects of a shop whose number it does not see (`sameShop`): half of all materials, and not what a
 * shop has on average. Beside 20,000 small shops that is 30 materials. To read so few seems cheaper than the trigram
 * index, so each search in a shop of 150,000 read all of them: 151,806 buffers in 424 ms for one that finds nothing, and
 * 170 in 0.4 ms by the index. In a small shop that search takes 162 buffers instead of 4. Half, because a smaller part
 * (a two hundredth, as without statistics) would be read through in a database of one shop of 20,000.
 *
 * Neither readers nor writers wait for it. It lasts as long as Postgres takes for a sample of 30,000 rows, some seconds
 * where none of them is in memory; without that, it would hold from the next ANALYZE on. A table without statistics
 * stays so.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE materials ALTER COLUMN shop_id SET (n_distinct = 2);
    DO $$ BEGIN
      IF (SELECT reltuples > 0 FROM pg_class WHERE oid = 'materials'::regclass) THEN ANALYZE materials (shop_id); END IF;
    END $$`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE materials ALTER COLUMN shop_id RESET (n_distinct)');
}

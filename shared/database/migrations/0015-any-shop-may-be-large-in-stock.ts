import type { Knex } from 'knex';

const tables = ['stock', 'bills', 'bill_components'];

/**
 * As migration 0012 for materials, for the other tables with more than one index that begins with the shop. Beside
 * thousands of small shops the planner expected so few rows of a shop that another index seemed cheaper than the
 * primary key, and for one row all of the shop's were passed over:
 *
 * - `stock_total_idx` or `stock_updated_at_idx`, after a VACUUM, since they give the sort key without the table. A
 *   search in a shop of 150,000 beside 20,000 small ones that finds 1,489 took more than 9 s where it is sorted by
 *   quantity or by change, and 0.04 s at most by the primary key; a read of a material's levels 13 ms, and 1.
 * - `bills_pkey` by the shop alone: a page of 1,000 that bills use, in a shop with 5,000 bills, took 0.09 s, and 0.04 s
 *   at most; and `bill_components_bill_idx`, where the statistics were made when most shops had one component.
 */
export async function up(knex: Knex): Promise<void> {
  for (const table of tables) {
    await knex.raw(`
      ALTER TABLE ${table} ALTER COLUMN shop_id SET (n_distinct = 2);
      DO $$ BEGIN
        IF (SELECT reltuples > 0 FROM pg_class WHERE oid = '${table}'::regclass) THEN ANALYZE ${table} (shop_id); END IF;
      END $$`);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const table of tables) await knex.raw(`ALTER TABLE ${table} ALTER COLUMN shop_id RESET (n_distinct)`);
}

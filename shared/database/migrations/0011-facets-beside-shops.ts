import type { Knex } from 'knex';

/**
 * A facet (migration 0003) no longer refers to its shop by a key, for which whoever made one took a lock on the shop's
 * row. While another session held that row, as one that deletes the shop does, a change to a new vendor waited for it,
 * and with it the cycle that it was in, with everybody's changes, for two seconds each time.
 *
 * Nothing is lost by it: a material refers to its shop by a key of its own, so that no cycle draws a facet of a shop
 * that is gone. What a deleted shop leaves has no materials, and is deleted like any other (`pruneFacets`).
 *
 * A process of the release before works as it did. This takes both tables for a moment, after whoever writes facets, an
 * import included, and whoever reads shops; lists wait for it meanwhile.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE facets DROP CONSTRAINT facets_shop_fkey');
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM facet_counts WHERE facet_id IN (
      SELECT f.id FROM facets f WHERE NOT EXISTS (SELECT 1 FROM shops s WHERE s.id = f.shop_id));
    DELETE FROM facets f WHERE NOT EXISTS (SELECT 1 FROM shops s WHERE s.id = f.shop_id);
    ALTER TABLE facets ADD CONSTRAINT facets_shop_fkey FOREIGN KEY (shop_id) REFERENCES shops (id)`);
}

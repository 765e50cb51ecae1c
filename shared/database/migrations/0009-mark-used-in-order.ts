import type { Knex } from 'knex';

/**
 * The facets of the materials of a bill are drawn in one order (migration 0003: by chance). Whoever makes one that
 * another makes as well waits for the other's end; two bills with materials of the same vendors waited in a circle. Nor
 * does it wait any more while it holds a new facet: it locks the rows of stock first, which a cycle may hold that needs
 * that facet. Only of those materials whose use changes, or adjustments of the others would be left out meanwhile.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION bill_components_mark_used() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      PERFORM 1 FROM materials m
      WHERE (m.shop_id, m.id) IN (SELECT c.shop_id, c.material_id FROM changed c)
      ORDER BY m.shop_id, m.id FOR NO KEY UPDATE;
      PERFORM 1 FROM stock s
      WHERE (s.shop_id, s.material_id) IN (
        SELECT m.shop_id, m.id FROM materials m JOIN facets f ON f.id = m.facet_id
        WHERE (m.shop_id, m.id) IN (SELECT c.shop_id, c.material_id FROM changed c)
          AND f.is_used <> EXISTS (
            SELECT 1 FROM bill_components b WHERE b.shop_id = m.shop_id AND b.material_id = m.id))
      ORDER BY s.shop_id, s.material_id FOR NO KEY UPDATE;
      UPDATE materials m SET facet_id = drawn.facet_id
      FROM (
        SELECT moved.shop_id, moved.id, facet_of(moved.shop_id, moved.vendor, moved.origin, moved.is_used) AS facet_id
        FROM (
          SELECT m.shop_id, m.id, m.vendor, m.origin, NOT f.is_used AS is_used
          FROM materials m JOIN facets f ON f.id = m.facet_id
          WHERE (m.shop_id, m.id) IN (SELECT c.shop_id, c.material_id FROM changed c)
            AND f.is_used <> EXISTS (
              SELECT 1 FROM bill_components b WHERE b.shop_id = m.shop_id AND b.material_id = m.id)
          ORDER BY m.shop_id, m.vendor, m.origin, NOT f.is_used
        ) moved
      ) drawn
      WHERE m.shop_id = drawn.shop_id AND m.id = drawn.id;
      RETURN NULL;
    END $$`);
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION bill_components_mark_used() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      PERFORM 1 FROM materials m
      WHERE (m.shop_id, m.id) IN (SELECT c.shop_id, c.material_id FROM changed c)
      ORDER BY m.shop_id, m.id FOR NO KEY UPDATE;
      UPDATE materials m SET facet_id = facet_of(m.shop_id, m.vendor, m.origin, NOT f.is_used)
      FROM facets f
      WHERE (m.shop_id, m.id) IN (SELECT c.shop_id, c.material_id FROM changed c) AND f.id = m.facet_id
        AND f.is_used <> EXISTS (
          SELECT 1 FROM bill_components b WHERE b.shop_id = m.shop_id AND b.material_id = m.id);
      RETURN NULL;
    END $$`);
}

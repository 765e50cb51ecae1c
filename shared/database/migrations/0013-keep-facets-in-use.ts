import type { Knex } from 'knex';

/**
 * A facet that materials have is kept, whatever its counters say (migration 0008). Counters are wrong only where
 * somebody wrote past the service, and `verify` tells. But an hour later the facet was deleted, and from then on each
 * change of the vendor of one of its materials was a fault of ours. (Where that has happened already, the statements of
 * the handbook mend it.)
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION delete_empty_facet(facet integer, marked_before timestamptz) RETURNS boolean
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE parts_held bigint; materials_held bigint;
    BEGIN
      PERFORM 1 FROM facets f WHERE f.id = facet AND f.empty_since <= marked_before FOR UPDATE SKIP LOCKED;
      IF NOT FOUND THEN RETURN false; END IF;
      SELECT count(*), coalesce(sum(held.materials), 0) INTO parts_held, materials_held
      FROM (SELECT c.materials FROM facet_counts c WHERE c.facet_id = facet FOR UPDATE SKIP LOCKED) held;
      IF materials_held <> 0 OR parts_held <> (SELECT count(*) FROM facet_counts c WHERE c.facet_id = facet) THEN
        RETURN false;
      END IF;
      -- By the index of what is gathered (migration 0006).
      IF EXISTS (
        SELECT 1 FROM facets f JOIN materials m ON m.shop_id + 0 = f.shop_id AND m.facet_id + 0 = f.id WHERE f.id = facet
      ) THEN
        RETURN false;
      END IF;
      DELETE FROM facet_counts WHERE facet_id = facet;
      DELETE FROM facets WHERE id = facet;
      RETURN true;
    END $$;
  `);
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION delete_empty_facet(facet integer, marked_before timestamptz) RETURNS boolean
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE parts_held bigint; materials_held bigint;
    BEGIN
      PERFORM 1 FROM facets f WHERE f.id = facet AND f.empty_since <= marked_before FOR UPDATE SKIP LOCKED;
      IF NOT FOUND THEN RETURN false; END IF;
      SELECT count(*), coalesce(sum(held.materials), 0) INTO parts_held, materials_held
      FROM (SELECT c.materials FROM facet_counts c WHERE c.facet_id = facet FOR UPDATE SKIP LOCKED) held;
      IF materials_held <> 0 OR parts_held <> (SELECT count(*) FROM facet_counts c WHERE c.facet_id = facet) THEN
        RETURN false;
      END IF;
      DELETE FROM facet_counts WHERE facet_id = facet;
      DELETE FROM facets WHERE id = facet;
      RETURN true;
    END $$;
  `);
}

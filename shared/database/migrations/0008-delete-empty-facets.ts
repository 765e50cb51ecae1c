import type { Knex } from 'knex';

/**
 * What lets a facet go that has no materials left (migration 0003). The list looks at every facet of its shop, so that
 * a shop that kept changing its vendors ended with a list that was a 503 for good.
 *
 * An import draws facets in one transaction and uses them in another, minutes later. So one that is found empty is only
 * marked (`empty_since`); whoever draws it takes the mark away, and one that still has it an hour later, and is still
 * empty, is deleted. A facet without a mark is drawn as before, without a lock. One with a mark stays locked until
 * whoever draws it has counted what he puts there.
 *
 * The deletion never waits, and so is in no circle of waits. It holds the facet and all of its parts before it believes
 * their sum. Whoever has counted in it and not yet committed holds either a part or, by the foreign key of a new part,
 * the facet: then it is passed over until the next look.
 *
 * A process of the release before draws by the same function, and needs no more than that. To add the column, this
 * waits for whoever writes facets, an import included, and lists wait for this meanwhile.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE facets ADD COLUMN empty_since timestamptz;

    -- The mark of a facet, taken away by whoever draws it; false where the facet was deleted meanwhile. The lock keeps the
    -- deletion away until the end of the transaction. Nobody waits for another who takes the same mark away: if that one
    -- rolls back, the mark stays, and an import that drew at that moment may fail as a whole, if the hour ends then.
    CREATE FUNCTION keep_facet(facet integer) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      PERFORM 1 FROM facets f WHERE f.id = facet FOR KEY SHARE;
      IF NOT FOUND THEN RETURN false; END IF;
      PERFORM 1 FROM facets f WHERE f.id = facet AND f.empty_since IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED;
      IF FOUND THEN UPDATE facets SET empty_since = NULL WHERE id = facet; END IF;
      RETURN true;
    END $$;

    CREATE OR REPLACE FUNCTION facet_of(shop integer, vendor_name text, material_origin text, used boolean)
    RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE found_id integer; marked_since timestamptz;
    BEGIN
      FOR attempt IN 1..2 LOOP
        IF vendor_name IS NULL THEN
          SELECT f.id, f.empty_since INTO found_id, marked_since FROM facets f
          WHERE f.shop_id = shop AND f.vendor IS NULL AND f.origin = material_origin AND f.is_used = used;
        ELSE
          SELECT f.id, f.empty_since INTO found_id, marked_since FROM facets f
          WHERE f.shop_id = shop AND f.vendor = vendor_name AND f.origin = material_origin AND f.is_used = used;
        END IF;
        IF FOUND AND (marked_since IS NULL OR keep_facet(found_id)) THEN RETURN found_id; END IF;
        INSERT INTO facets (id, shop_id, vendor, origin, is_used)
        VALUES (new_facet_id(material_origin, used), shop, vendor_name, material_origin, used)
        ON CONFLICT ON CONSTRAINT facets_key DO NOTHING RETURNING id INTO found_id;
        IF FOUND THEN RETURN found_id; END IF;
      END LOOP;
      RAISE 'the facet of shop % is neither there nor to be made', shop;
    END $$;

    -- Each look in a statement of its own, which sees what was committed before it had its locks.
    CREATE FUNCTION delete_empty_facet(facet integer, marked_before timestamptz) RETURNS boolean
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

    -- A batch in the order of ids: marks what is empty, and deletes what has had its mark for so long.
    CREATE FUNCTION prune_facets(after_id integer, facets_max integer, marked_before timestamptz,
      OUT last_id integer, OUT looked integer, OUT deleted integer)
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE facet record;
    BEGIN
      looked := 0;
      deleted := 0;
      FOR facet IN
        SELECT f.id, f.empty_since IS NOT NULL AS is_marked, coalesce(c.materials, 0) = 0 AS is_empty
        FROM (SELECT id, empty_since FROM facets WHERE id > after_id ORDER BY id LIMIT facets_max) f
        CROSS JOIN LATERAL (SELECT sum(c.materials) AS materials FROM facet_counts c WHERE c.facet_id = f.id) c
        ORDER BY f.id
      LOOP
        looked := looked + 1;
        last_id := facet.id;
        CONTINUE WHEN NOT facet.is_empty;
        IF facet.is_marked THEN
          deleted := deleted + delete_empty_facet(facet.id, marked_before)::integer;
        ELSE
          PERFORM 1 FROM facets f WHERE f.id = facet.id AND f.empty_since IS NULL FOR NO KEY UPDATE SKIP LOCKED;
          IF FOUND THEN UPDATE facets SET empty_since = statement_timestamp() WHERE id = facet.id; END IF;
        END IF;
      END LOOP;
    END $$;
  `);
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION prune_facets, delete_empty_facet;
    CREATE OR REPLACE FUNCTION facet_of(shop integer, vendor_name text, material_origin text, used boolean)
    RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE found_id integer;
    BEGIN
      FOR attempt IN 1..2 LOOP
        IF vendor_name IS NULL THEN
          SELECT f.id INTO found_id FROM facets f
          WHERE f.shop_id = shop AND f.vendor IS NULL AND f.origin = material_origin AND f.is_used = used;
        ELSE
          SELECT f.id INTO found_id FROM facets f
          WHERE f.shop_id = shop AND f.vendor = vendor_name AND f.origin = material_origin AND f.is_used = used;
        END IF;
        IF FOUND THEN RETURN found_id; END IF;
        INSERT INTO facets (id, shop_id, vendor, origin, is_used)
        VALUES (new_facet_id(material_origin, used), shop, vendor_name, material_origin, used)
        ON CONFLICT ON CONSTRAINT facets_key DO NOTHING RETURNING id INTO found_id;
        IF FOUND THEN RETURN found_id; END IF;
      END LOOP;
      RAISE 'the facet of shop % is neither there nor to be made', shop;
    END $$;
    DROP FUNCTION keep_facet;
    ALTER TABLE facets DROP COLUMN empty_since;
  `);
}

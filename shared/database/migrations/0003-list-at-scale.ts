import type { Knex } from 'knex';

/**
 * What the list needs to cost the same at a million materials as at ten thousand (issue 6 §2).
 *
 * - A *facet* is what the list filters by, taken together: vendor, origin, and whether a bill uses the material. Its
 *   narrow number stands in `materials` and in `stock` and rides in every index that the list is sorted by, so a filtered
 *   page is read from indexes alone. The last two bits of the number are its *group*, origin and use, which leads those
 *   indexes: a page is merged from at most four of them. And `facet_counts` has how many there are of each, so that neither `totalCount`
 *   nor `availableVendors` looks at a material. Triggers keep all of it, whoever writes: a process of the release before
 *   this one, too. An adjustment changes no facet; it carries four bytes more.
 * - `facet_counts` is a sum of parts: a writer adds to a part that nobody holds, or makes one. An import of a million
 *   materials would otherwise hold the count of a vendor, and with it everybody who adds to that vendor, for a minute.
 * - Each sort key has one index, read forwards for ascending and backwards for descending order, ties included. Texts are
 *   sorted by a column of their own: an index on `lower(…)` cannot answer without the table (1,145 instead of 60 ms for a
 *   page that looks at half a million entries).
 * - The search is led by the shop (btree_gin), or a shop of a thousand would read what a shop of a million matches.
 *
 * `materials_vendor_idx` stays for the processes of the release before, which walk it; a later migration drops it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE EXTENSION IF NOT EXISTS btree_gin;

    CREATE TABLE facets (
      id       integer NOT NULL CONSTRAINT facets_pkey PRIMARY KEY,
      shop_id  integer NOT NULL CONSTRAINT facets_shop_fkey REFERENCES shops (id),
      vendor   text,
      origin   text NOT NULL CONSTRAINT facets_origin_known CHECK (origin IN ('platform', 'virtual')),
      is_used  boolean NOT NULL,
      CONSTRAINT facets_key UNIQUE NULLS NOT DISTINCT (shop_id, vendor, origin, is_used),
      CONSTRAINT facets_id_group CHECK ((id & 3) = 2 * (origin = 'platform')::integer + is_used::integer)
    );
    CREATE SEQUENCE facets_sequence MAXVALUE 536870911;
    CREATE FUNCTION new_facet_id(material_origin text, used boolean) RETURNS integer LANGUAGE sql VOLATILE AS $$
      SELECT (4 * nextval('facets_sequence') + 2 * (material_origin = 'platform')::integer + used::integer)::integer
    $$;

    CREATE TABLE facet_counts (
      id         bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT facet_counts_pkey PRIMARY KEY,
      facet_id   integer NOT NULL CONSTRAINT facet_counts_facet_fkey REFERENCES facets (id),
      materials  bigint NOT NULL
    ) WITH (fillfactor = 50);
    CREATE INDEX facet_counts_facet_idx ON facet_counts (facet_id);

    -- The facet's number; made where it is new. A long transaction must not make one: whoever else needs it waits.
    -- Sequential scans are off in all of these functions: a plan made on an empty table keeps them (pipeline §5).
    CREATE FUNCTION facet_of(shop integer, vendor_name text, material_origin text, used boolean) RETURNS integer
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
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

    CREATE FUNCTION count_facet(facet integer, change bigint) RETURNS void
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE part bigint;
    BEGIN
      SELECT c.id INTO part FROM facet_counts c WHERE c.facet_id = facet LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
      IF FOUND THEN
        UPDATE facet_counts SET materials = materials + change WHERE id = part;
      ELSE
        INSERT INTO facet_counts (facet_id, materials) VALUES (facet, change);
      END IF;
    END $$;

    ALTER TABLE materials ADD COLUMN facet_id integer,
      ADD COLUMN product_name_order text GENERATED ALWAYS AS (lower(product_name)) STORED,
      ADD COLUMN variant_name_order text GENERATED ALWAYS AS (lower(variant_name)) STORED,
      ADD COLUMN sku_order text GENERATED ALWAYS AS (lower(sku)) STORED,
      ADD COLUMN vendor_order text GENERATED ALWAYS AS (lower(vendor)) STORED;
    ALTER TABLE stock ADD COLUMN facet_id integer;

    INSERT INTO facets (id, shop_id, vendor, origin, is_used)
    SELECT new_facet_id(f.origin, f.is_used), f.*
    FROM (SELECT DISTINCT m.shop_id, m.vendor, m.origin, EXISTS (
            SELECT 1 FROM bill_components c WHERE c.shop_id = m.shop_id AND c.material_id = m.id) AS is_used
          FROM materials m) f;
    UPDATE materials m SET facet_id = f.id FROM facets f
    WHERE f.shop_id = m.shop_id AND f.vendor IS NOT DISTINCT FROM m.vendor AND f.origin = m.origin
      AND f.is_used = EXISTS (SELECT 1 FROM bill_components c WHERE c.shop_id = m.shop_id AND c.material_id = m.id);
    UPDATE stock s SET facet_id = m.facet_id FROM materials m WHERE m.shop_id = s.shop_id AND m.id = s.material_id;
    INSERT INTO facet_counts (facet_id, materials) SELECT facet_id, count(*) FROM materials GROUP BY facet_id;
    ALTER TABLE materials ALTER COLUMN facet_id SET NOT NULL;

    -- Whoever inserts many rows at once may give the facet; a single row comes without.
    CREATE FUNCTION materials_give_facet() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      NEW.facet_id := facet_of(NEW.shop_id, NEW.vendor, NEW.origin,
        TG_OP = 'UPDATE' AND (SELECT f.is_used FROM facets f WHERE f.id = NEW.facet_id));
      RETURN NEW;
    END $$;
    CREATE TRIGGER materials_facet_of_new BEFORE INSERT ON materials
      FOR EACH ROW WHEN (NEW.facet_id IS NULL) EXECUTE FUNCTION materials_give_facet();
    CREATE TRIGGER materials_facet_of_vendor BEFORE UPDATE OF vendor ON materials
      FOR EACH ROW WHEN (OLD.vendor IS DISTINCT FROM NEW.vendor) EXECUTE FUNCTION materials_give_facet();

    CREATE FUNCTION stock_give_facet() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      SELECT m.facet_id INTO NEW.facet_id FROM materials m WHERE m.shop_id = NEW.shop_id AND m.id = NEW.material_id;
      RETURN NEW;
    END $$;
    CREATE TRIGGER stock_facet_of_new BEFORE INSERT ON stock
      FOR EACH ROW WHEN (NEW.facet_id IS NULL) EXECUTE FUNCTION stock_give_facet();

    -- Of one statement that writes both tables Postgres may write this one first; at its end the material is there.
    CREATE FUNCTION stock_give_facet_late() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      UPDATE stock s SET facet_id = m.facet_id FROM materials m
      WHERE s.shop_id = NEW.shop_id AND s.material_id = NEW.material_id AND m.shop_id = NEW.shop_id
        AND m.id = NEW.material_id;
      RETURN NULL;
    END $$;
    CREATE TRIGGER stock_facet_of_new_late AFTER INSERT ON stock
      FOR EACH ROW WHEN (NEW.facet_id IS NULL) EXECUTE FUNCTION stock_give_facet_late();

    CREATE FUNCTION materials_move_facet() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      UPDATE stock SET facet_id = NEW.facet_id WHERE shop_id = NEW.shop_id AND material_id = NEW.id;
      PERFORM count_facet(OLD.facet_id, -1);
      PERFORM count_facet(NEW.facet_id, 1);
      RETURN NULL;
    END $$;
    CREATE TRIGGER materials_facet_moved AFTER UPDATE ON materials
      FOR EACH ROW WHEN (OLD.facet_id <> NEW.facet_id) EXECUTE FUNCTION materials_move_facet();

    CREATE FUNCTION materials_count_facets() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      PERFORM count_facet(c.facet_id, c.materials * CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END)
      FROM (SELECT facet_id, count(*) AS materials FROM changed GROUP BY facet_id) c;
      RETURN NULL;
    END $$;
    CREATE TRIGGER materials_counted_in AFTER INSERT ON materials REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION materials_count_facets();
    CREATE TRIGGER materials_counted_out AFTER DELETE ON materials REFERENCING OLD TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION materials_count_facets();

    -- The lock first, and the look in a later statement: of two that change the bills of one material the second must
    -- see what the first has done. In the order of ids, so that two bills with the same components wait in one order.
    CREATE FUNCTION bill_components_mark_used() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
    END $$;
    CREATE TRIGGER bill_components_used AFTER INSERT ON bill_components REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION bill_components_mark_used();
    CREATE TRIGGER bill_components_unused AFTER DELETE ON bill_components REFERENCING OLD TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION bill_components_mark_used();

    -- Two more processes for a page of fifty would take from others what it wins.
    ALTER TABLE materials SET (parallel_workers = 0);
    ALTER TABLE stock SET (parallel_workers = 0);

    DROP INDEX materials_product_name_idx, materials_search_idx, stock_total_idx, stock_updated_at_idx;
    -- By an expression: a statement that names the column itself, to walk along another index, is not drawn to this one.
    CREATE INDEX materials_facet_idx ON materials (shop_id, (facet_id + 0), id) INCLUDE (facet_id);
    -- Led by the group: all of a group's materials stand together in each order, however few they are.
    CREATE INDEX materials_product_name_idx ON materials (shop_id, (facet_id & 3), product_name_order, id) INCLUDE (facet_id);
    CREATE INDEX materials_variant_name_idx ON materials (shop_id, (facet_id & 3), variant_name_order, id) INCLUDE (facet_id);
    CREATE INDEX materials_sku_idx ON materials (shop_id, (facet_id & 3), sku_order, id) INCLUDE (facet_id);
    CREATE INDEX materials_vendor_order_idx ON materials (shop_id, (facet_id & 3), vendor_order, id) INCLUDE (facet_id);
    CREATE INDEX materials_unit_cost_idx ON materials (shop_id, (facet_id & 3), unit_cost, id) INCLUDE (facet_id);
    CREATE INDEX materials_search_idx ON materials USING gin
      (shop_id, product_name gin_trgm_ops, variant_name gin_trgm_ops, sku gin_trgm_ops, vendor gin_trgm_ops);
    CREATE INDEX stock_total_idx ON stock (shop_id, (facet_id & 3), total_quantity, material_id) INCLUDE (facet_id);
    CREATE INDEX stock_updated_at_idx ON stock (shop_id, (facet_id & 3), updated_at, material_id) INCLUDE (facet_id);
  `);
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER bill_components_used ON bill_components;
    DROP TRIGGER bill_components_unused ON bill_components;
    DROP TRIGGER materials_counted_in ON materials;
    DROP TRIGGER materials_counted_out ON materials;
    DROP TRIGGER materials_facet_moved ON materials;
    DROP TRIGGER materials_facet_of_new ON materials;
    DROP TRIGGER materials_facet_of_vendor ON materials;
    DROP TRIGGER stock_facet_of_new ON stock;
    DROP TRIGGER stock_facet_of_new_late ON stock;
    DROP FUNCTION bill_components_mark_used, materials_count_facets, materials_move_facet, materials_give_facet,
      stock_give_facet, stock_give_facet_late, count_facet, facet_of, new_facet_id;
    DROP INDEX materials_facet_idx, materials_product_name_idx, materials_variant_name_idx, materials_sku_idx,
      materials_vendor_order_idx, materials_unit_cost_idx, materials_search_idx, stock_total_idx, stock_updated_at_idx;
    ALTER TABLE materials DROP COLUMN facet_id, DROP COLUMN product_name_order, DROP COLUMN variant_name_order,
      DROP COLUMN sku_order, DROP COLUMN vendor_order;
    ALTER TABLE stock DROP COLUMN facet_id;
    DROP TABLE facet_counts, facets;
    DROP SEQUENCE facets_sequence;
    DROP EXTENSION btree_gin;
    ALTER TABLE materials RESET (parallel_workers);
    ALTER TABLE stock RESET (parallel_workers);
    CREATE INDEX materials_product_name_idx ON materials (shop_id, lower(product_name), id);
    CREATE INDEX materials_search_idx ON materials
      USING gin (product_name gin_trgm_ops, variant_name gin_trgm_ops, sku gin_trgm_ops, vendor gin_trgm_ops);
    CREATE INDEX stock_total_idx ON stock (shop_id, total_quantity, material_id);
    CREATE INDEX stock_updated_at_idx ON stock (shop_id, updated_at, material_id);
  `);
}

import type { Knex } from 'knex';

/**
 * The whole of the first schema, as SQL, since that is what it is read as.
 *
 * Three decisions shape it:
 * - Each table of a shop has a key that is led by the shop, so that no query can forget the tenant (reliability §3).
 * - What every adjustment changes about a material (its total, and when) stands in `stock`, apart from the fields in
 *   `materials`: the fields carry the wide indexes of list and search, and an update of a row with indexed columns
 *   writes a new entry into every index of its table. The row of `stock` is also the lock of the material.
 * - The ledger points at a level by its narrow surrogate key; the wide text key would make its index several times
 *   larger, and the ledger's indexes are what bounds large batches (pipeline §1).
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE EXTENSION IF NOT EXISTS pg_trgm;

    CREATE TABLE shops (
      id                        integer GENERATED ALWAYS AS IDENTITY CONSTRAINT shops_pkey PRIMARY KEY,
      name                      text NOT NULL CONSTRAINT shops_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
      plan                      text NOT NULL CONSTRAINT shops_plan_known CHECK (plan IN ('basic', 'enhanced')),
      allow_negative_inventory  boolean NOT NULL DEFAULT false,
      default_location_id       text,
      rate_limit_points         integer CONSTRAINT shops_rate_limit_positive CHECK (rate_limit_points > 0),
      platform_domain           text CONSTRAINT shops_platform_domain_length CHECK (char_length(platform_domain) BETWEEN 1 AND 255),
      platform_token_sealed     bytea,
      created_at                timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT shops_platform_complete CHECK ((platform_domain IS NULL) = (platform_token_sealed IS NULL))
    );

    CREATE TABLE locations (
      shop_id     integer NOT NULL CONSTRAINT locations_shop_fkey REFERENCES shops (id),
      id          text NOT NULL CONSTRAINT locations_id_length CHECK (char_length(id) BETWEEN 1 AND 255),
      name        text NOT NULL CONSTRAINT locations_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
      created_at  timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT locations_pkey PRIMARY KEY (shop_id, id)
    );

    ALTER TABLE shops ADD CONSTRAINT shops_default_location_fkey
      FOREIGN KEY (id, default_location_id) REFERENCES locations (shop_id, id);

    CREATE TABLE api_keys (
      id            text NOT NULL CONSTRAINT api_keys_pkey PRIMARY KEY
                    CONSTRAINT api_keys_id_form CHECK (id ~ '^[0-9A-Za-z]{12}$'),
      shop_id       integer NOT NULL CONSTRAINT api_keys_shop_fkey REFERENCES shops (id),
      label         text NOT NULL CONSTRAINT api_keys_label_length CHECK (char_length(label) BETWEEN 1 AND 255),
      scope         text NOT NULL CONSTRAINT api_keys_scope_known CHECK (scope IN ('read', 'write')),
      secret_hash   bytea NOT NULL CONSTRAINT api_keys_secret_hash_length CHECK (octet_length(secret_hash) = 32),
      created_at    timestamptz(3) NOT NULL DEFAULT now(),
      last_used_at  timestamptz(3),
      expires_at    timestamptz(3),
      revoked_at    timestamptz(3)
    );
    CREATE INDEX api_keys_shop_idx ON api_keys (shop_id, created_at);

    CREATE TABLE materials (
      shop_id           integer NOT NULL CONSTRAINT materials_shop_fkey REFERENCES shops (id),
      id                text NOT NULL,
      origin            text NOT NULL CONSTRAINT materials_origin_known CHECK (origin IN ('platform', 'virtual')),
      product_name      text NOT NULL CONSTRAINT materials_product_name_length CHECK (char_length(product_name) BETWEEN 1 AND 255),
      variant_name      text CONSTRAINT materials_variant_name_length CHECK (char_length(variant_name) <= 255),
      sku               text CONSTRAINT materials_sku_length CHECK (char_length(sku) <= 255),
      unit              text CONSTRAINT materials_unit_length CHECK (char_length(unit) BETWEEN 1 AND 16),
      unit_cost         numeric(16, 6) CONSTRAINT materials_unit_cost_range CHECK (unit_cost BETWEEN 0 AND 1000000000),
      unit_price        numeric(16, 6) CONSTRAINT materials_unit_price_range CHECK (unit_price BETWEEN 0 AND 1000000000),
      vendor            text CONSTRAINT materials_vendor_length CHECK (char_length(vendor) <= 255),
      specifications    text CONSTRAINT materials_specifications_length CHECK (char_length(specifications) <= 10000),
      image_url         text CONSTRAINT materials_image_url_length CHECK (char_length(image_url) <= 2048),
      is_non_essential  boolean NOT NULL DEFAULT false,
      weight_value      numeric(16, 6) CONSTRAINT materials_weight_value_range CHECK (weight_value BETWEEN 0 AND 1000000000),
      weight_unit_id    text CONSTRAINT materials_weight_unit_id_length CHECK (char_length(weight_unit_id) BETWEEN 1 AND 64),
      version           integer NOT NULL DEFAULT 1,
      created_at        timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT materials_pkey PRIMARY KEY (shop_id, id),
      CONSTRAINT materials_id_form CHECK (
        CASE origin WHEN 'platform' THEN id ~ '^[0-9]{1,20}$' ELSE id ~ '^VMAT-[A-Za-z0-9-]{1,64}$' END
      )
    );
    CREATE INDEX materials_product_name_idx ON materials (shop_id, lower(product_name), id);
    CREATE INDEX materials_vendor_idx ON materials (shop_id, vendor);
    CREATE INDEX materials_search_idx ON materials
      USING gin (product_name gin_trgm_ops, variant_name gin_trgm_ops, sku gin_trgm_ops, vendor gin_trgm_ops);

    CREATE TABLE stock (
      shop_id         integer NOT NULL,
      material_id     text NOT NULL,
      total_quantity  numeric(16, 6) NOT NULL DEFAULT 0
                      CONSTRAINT stock_total_range CHECK (total_quantity BETWEEN -8000000000 AND 8000000000),
      updated_at      timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT stock_pkey PRIMARY KEY (shop_id, material_id),
      CONSTRAINT stock_material_fkey FOREIGN KEY (shop_id, material_id) REFERENCES materials (shop_id, id)
    ) WITH (fillfactor = 80);
    CREATE INDEX stock_total_idx ON stock (shop_id, total_quantity, material_id);
    CREATE INDEX stock_updated_at_idx ON stock (shop_id, updated_at, material_id);

    -- The apply step draws an id for a new level while it reads, so that one statement can then write level and ledger.
    CREATE SEQUENCE levels_id_seq;

    CREATE TABLE levels (
      shop_id      integer NOT NULL,
      material_id  text NOT NULL,
      location_id  text NOT NULL,
      id           bigint NOT NULL CONSTRAINT levels_id_key UNIQUE,
      quantity     numeric(16, 6) NOT NULL
                   CONSTRAINT levels_quantity_range CHECK (quantity BETWEEN -8000000000 AND 8000000000),
      sequence     bigint NOT NULL CONSTRAINT levels_sequence_positive CHECK (sequence > 0),
      updated_at   timestamptz(3) NOT NULL,
      CONSTRAINT levels_pkey PRIMARY KEY (shop_id, material_id, location_id),
      CONSTRAINT levels_stock_fkey FOREIGN KEY (shop_id, material_id) REFERENCES stock (shop_id, material_id),
      CONSTRAINT levels_location_fkey FOREIGN KEY (shop_id, location_id) REFERENCES locations (shop_id, id)
    ) WITH (fillfactor = 80);

    -- No foreign key to levels: it would lock the level's row once for each entry, and the only writer is the
    -- statement that writes the level itself; manage verify recomputes the rest.
    CREATE TABLE ledger (
      shop_id             integer NOT NULL,
      level_id            bigint NOT NULL,
      sequence            bigint NOT NULL CONSTRAINT ledger_sequence_positive CHECK (sequence > 0),
      op_id               uuid NOT NULL,
      row_index           smallint NOT NULL CONSTRAINT ledger_row_index_range CHECK (row_index BETWEEN 0 AND 999),
      requested_delta     numeric(16, 6),
      requested_absolute  numeric(16, 6),
      previous            numeric(16, 6) NOT NULL,
      applied             numeric(17, 6) NOT NULL,
      level_after         numeric(16, 6) NOT NULL,
      clamped             boolean NOT NULL,
      at                  timestamptz(3) NOT NULL,
      channel             text NOT NULL CONSTRAINT ledger_channel_known CHECK (channel IN ('rest', 'mcp', 'cli', 'import')),
      key_id              text,
      request_id          uuid,
      reason              text CONSTRAINT ledger_reason_length CHECK (char_length(reason) <= 255),
      reference           text CONSTRAINT ledger_reference_length CHECK (char_length(reference) <= 255),
      CONSTRAINT ledger_pkey PRIMARY KEY (shop_id, level_id, sequence),
      CONSTRAINT ledger_op_row_key UNIQUE (op_id, row_index),
      CONSTRAINT ledger_sum CHECK (previous + applied = level_after),
      CONSTRAINT ledger_one_request CHECK ((requested_delta IS NULL) <> (requested_absolute IS NULL)),
      CONSTRAINT ledger_level_range CHECK (level_after BETWEEN -8000000000 AND 8000000000)
    );

    CREATE TABLE operations (
      op_id         uuid NOT NULL CONSTRAINT operations_pkey PRIMARY KEY,
      shop_id       integer NOT NULL,
      material_id   text NOT NULL,
      status        text NOT NULL CONSTRAINT operations_status_known
                    CHECK (status IN ('executed', 'replayed', 'key-reused', 'expired', 'cancelled', 'failed')),
      result        json,
      replay_of     uuid,
      key_scope     bytea,
      request_hash  bytea,
      recorded_at   timestamptz(3) NOT NULL,
      CONSTRAINT operations_result_of_executed CHECK ((result IS NOT NULL) = (status = 'executed')),
      CONSTRAINT operations_replay_complete CHECK ((replay_of IS NOT NULL) = (status = 'replayed')),
      CONSTRAINT operations_scope_of_executed CHECK (key_scope IS NULL OR status = 'executed'),
      CONSTRAINT operations_hash_of_scope CHECK ((key_scope IS NULL) = (request_hash IS NULL))
    );
    CREATE INDEX operations_key_scope_idx ON operations (key_scope) WHERE key_scope IS NOT NULL;

    CREATE TABLE bills (
      shop_id     integer NOT NULL CONSTRAINT bills_shop_fkey REFERENCES shops (id),
      id          text NOT NULL CONSTRAINT bills_id_length CHECK (char_length(id) BETWEEN 1 AND 255),
      kind        text NOT NULL CONSTRAINT bills_kind_known CHECK (kind IN ('bill_of_materials', 'sub_assembly')),
      name        text NOT NULL CONSTRAINT bills_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
      created_at  timestamptz(3) NOT NULL DEFAULT now(),
      CONSTRAINT bills_pkey PRIMARY KEY (shop_id, id)
    );

    CREATE TABLE bill_components (
      shop_id      integer NOT NULL,
      material_id  text NOT NULL,
      bill_id      text NOT NULL,
      quantity     numeric(16, 6) NOT NULL CONSTRAINT bill_components_quantity_range CHECK (quantity > 0 AND quantity <= 1000000000),
      CONSTRAINT bill_components_pkey PRIMARY KEY (shop_id, material_id, bill_id),
      CONSTRAINT bill_components_material_fkey FOREIGN KEY (shop_id, material_id) REFERENCES materials (shop_id, id),
      CONSTRAINT bill_components_bill_fkey FOREIGN KEY (shop_id, bill_id) REFERENCES bills (shop_id, id)
    );
    CREATE INDEX bill_components_bill_idx ON bill_components (shop_id, bill_id);
  `);
}

/** Only for a developer's database: it drops every table and what is in it. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE bill_components, bills, operations, ledger, levels, stock, materials, api_keys, locations, shops CASCADE;
    DROP SEQUENCE levels_id_seq;
  `);
}

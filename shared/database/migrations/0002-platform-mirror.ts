import type { Knex } from 'knex';

/**
 * What the mirror of the commerce platform keeps besides the materials and locations themselves (contract §8).
 *
 * - `platform_syncs`, a row a shop: the run under way or the last one, with where it stands, so that one that was killed
 *   goes on there; and the lease of whoever runs it, which every page's transaction checks under the row's lock.
 * - `platform_sightings`, a row for each location and variant that the platform ever listed: in which run it was last
 *   seen. Apart from `materials`, whose rows carry the wide indexes of list and search, since every run writes all of it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE platform_syncs (
      shop_id            integer NOT NULL CONSTRAINT platform_syncs_pkey PRIMARY KEY
                         CONSTRAINT platform_syncs_shop_fkey REFERENCES shops (id),
      generation         integer NOT NULL DEFAULT 0,
      phase              text NOT NULL DEFAULT 'idle' CONSTRAINT platform_syncs_phase_known
                         CHECK (phase IN ('idle', 'locations', 'variants', 'ending')),
      cursor             text CONSTRAINT platform_syncs_cursor_length CHECK (char_length(cursor) <= 4096),
      platform_domain    text,
      pages              integer NOT NULL DEFAULT 0,
      locations_seen     integer NOT NULL DEFAULT 0,
      locations_added    integer NOT NULL DEFAULT 0,
      locations_changed  integer NOT NULL DEFAULT 0,
      variants_seen      integer NOT NULL DEFAULT 0,
      variants_added     integer NOT NULL DEFAULT 0,
      variants_changed   integer NOT NULL DEFAULT 0,
      attempted_at       timestamptz(3) NOT NULL,
      started_at         timestamptz(3),
      synced_at          timestamptz(3),
      problem            text CONSTRAINT platform_syncs_problem_length CHECK (char_length(problem) BETWEEN 1 AND 255),
      problem_at         timestamptz(3),
      lease_token        uuid,
      lease_until        timestamptz(3),
      CONSTRAINT platform_syncs_problem_complete CHECK ((problem IS NULL) = (problem_at IS NULL)),
      CONSTRAINT platform_syncs_cursor_of_run CHECK (cursor IS NULL OR phase IN ('locations', 'variants'))
    ) WITH (fillfactor = 50);

    CREATE TABLE platform_sightings (
      shop_id     integer NOT NULL CONSTRAINT platform_sightings_shop_fkey REFERENCES shops (id),
      kind        text NOT NULL CONSTRAINT platform_sightings_kind_known CHECK (kind IN ('location', 'variant')),
      id          text NOT NULL CONSTRAINT platform_sightings_id_form CHECK (id ~ '^[0-9]{1,20}$'),
      generation  integer NOT NULL,
      gone_since  timestamptz(3),
      CONSTRAINT platform_sightings_pkey PRIMARY KEY (shop_id, kind, id)
    ) WITH (fillfactor = 80);
  `);
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE platform_sightings, platform_syncs;');
}

import type { Knex } from 'knex';

/**
 * The numbers of facets (migration 0003) begin anew after the last one. There are half a billion, of which a change to a
 * vendor that the shop does not have takes one for good, though its facet may be deleted since (migration 0008). One
 * shop that changed vendors all the time, at 600 requests a minute, used them up in 1.7 years, a hundred such shops in
 * six days. Then nobody's materials could get a new vendor any more. What is still taken is passed over.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER SEQUENCE facets_sequence CYCLE;
    CREATE OR REPLACE FUNCTION new_facet_id(material_origin text, used boolean) RETURNS integer
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE free_id integer;
    BEGIN
      LOOP
        free_id := 4 * nextval('facets_sequence') + 2 * (material_origin = 'platform')::integer + used::integer;
        EXIT WHEN NOT EXISTS (SELECT 1 FROM facets f WHERE f.id = free_id);
      END LOOP;
      RETURN free_id;
    END $$`);
}

/** Only for a developer's database. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER SEQUENCE facets_sequence NO CYCLE;
    CREATE OR REPLACE FUNCTION new_facet_id(material_origin text, used boolean) RETURNS integer LANGUAGE sql VOLATILE AS $$
      SELECT (4 * nextval('facets_sequence') + 2 * (material_origin = 'platform')::integer + used::integer)::integer
    $$`);
}

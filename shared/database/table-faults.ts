import type { Database } from './connect.js';

/** Tables and sequences that exist, but not as the service needs them; both lists are empty if all are as needed. */
export interface TableFaults {
  /** Those on which the role lacks a right that the processes use. */
  refused: string[];
  /** Those that Postgres empties when it recovers from a crash. */
  unlogged: string[];
}

/** Those of the migrations, and no other application's that may share the schema. */
export const ours = [
  'api_keys',
  'bill_components',
  'bills',
  'facet_counts',
  'facets',
  'facets_sequence',
  'ledger',
  'levels',
  'levels_id_seq',
  'locations',
  'materials',
  'operations',
  'platform_sightings',
  'platform_syncs',
  'shops',
  'stock',
];

/** Judges by the role that asks, which the processes have too if they use the same address. */
export async function readTableFaults(database: Database): Promise<TableFaults> {
  const { rows } = await database.raw<{ rows: [TableFaults] }>(
    `WITH found AS (
       SELECT CAST(relname AS text) AS name, relpersistence = 'u' AS unlogged,
              CASE relkind WHEN 'S' THEN has_sequence_privilege(oid, 'USAGE')
              ELSE has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
                   AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE') END AS allowed
       FROM pg_class WHERE oid IN (SELECT to_regclass(name) FROM unnest(CAST(:ours AS text[])) AS name)
     )
     SELECT ARRAY(SELECT name FROM found WHERE NOT allowed ORDER BY 1) AS refused,
            ARRAY(SELECT name FROM found WHERE unlogged ORDER BY 1) AS unlogged`,
    { ours },
  );
  return rows[0];
}

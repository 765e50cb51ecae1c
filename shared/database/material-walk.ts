const skipped = 'CAST(:skipped AS integer)';
/** How many rows there are from the first to the end of the page. */
const toPageEnd = `${skipped} + CAST(:pageSize AS integer)`;

/** The ids and keys that meet a condition on the key, in an order by `key` and `id` that an index can give. */
export type Walk = (condition: string, order: string) => string;

/**
 * A page in descending order: keys from the largest, nulls last, ties by id from the smallest.
 *
 * Backwards, an index gives ties by id in descending order, and nulls first. So a first walk backwards finds only which
 * keys the page begins and ends with. Then come, from the index forwards, the rows of the first key (without those that
 * earlier pages have) and of the last; the rows of the keys between, in any order, since all are on the page; and the
 * nulls, if the page goes beyond the keys. A second index for each key would cost each adjustment two more entries.
 */
export function descendingSql(walk: Walk, { key, isNullable }: { key: string; isNullable: boolean }): string {
  const [first, last] = ['(SELECT first_key FROM edge)', '(SELECT last_key FROM edge)'];
  const parts = [
    `${walk(`${key} = ${first}`, 'id')} LIMIT :pageSize OFFSET (SELECT ${skipped} - before FROM edge)`,
    `${walk(`${key} < ${first} AND ${key} > ${last}`, 'key DESC')} LIMIT :pageSize`,
    `${walk(`${key} = ${last} AND (SELECT last_key < first_key FROM edge)`, 'id')} LIMIT :pageSize`,
  ];
  if (isNullable) {
    const places = '(SELECT places FROM edge)';
    // Without the limit of 0, nulls that the page does not need would be searched for.
    const size = `LIMIT CASE WHEN ${places} < ${toPageEnd} THEN CAST(:pageSize AS integer) ELSE 0 END`;
    parts.push(`${walk(`${key} IS NULL`, 'key, id')} ${size} OFFSET greatest(0, ${skipped} - ${places})`);
  }
  return `
    WITH seen AS MATERIALIZED (
      SELECT key FROM (${walk(isNullable ? `${key} IS NOT NULL` : '', 'key DESC')} LIMIT ${toPageEnd}) walked
    ),
    keys AS MATERIALIZED (
      SELECT count(*) AS places, min(key) AS last_key,
             (SELECT key FROM seen ORDER BY key DESC LIMIT 1 OFFSET ${skipped}) AS first_key
      FROM seen
    ),
    edge AS MATERIALIZED (
      SELECT keys.*, (SELECT count(*) FROM seen WHERE seen.key > keys.first_key) AS before FROM keys
    )
    SELECT id, key FROM (${parts.map((part) => `(${part})`).join(' UNION ALL ')}) parts
    ORDER BY key DESC NULLS LAST, id LIMIT :pageSize`;
}

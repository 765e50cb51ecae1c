import type { Database } from './connect.js';
import { isAhead } from './platform-syncs.js';
import { readRows } from './read-rows.js';

/**
 * How many shops with a platform were last brought in whole longer ago than `overdueMs`. A run under way counts from
 * its start, so that a large catalogue has as long, unless it met a problem, and a shop that was never brought in from
 * when it was created. It is not asked when a shop was last tried: one that fails is tried on time for ever. A time
 * that was written while the clock was ahead does not count (`isAhead`): until it had passed, nobody would hear of the
 * shop.
 */
export async function countOverdueMirrors(database: Database, overdueMs: number): Promise<number> {
  const rows = await readRows<{ count: number }>(
    database,
    `SELECT count(*)::integer AS count
     FROM shops s LEFT JOIN platform_syncs p ON p.shop_id = s.id AND p.platform_domain = s.platform_domain
     WHERE s.platform_domain IS NOT NULL
       AND greatest(
         '-infinity', ${unlessAhead('s.created_at')}, ${unlessAhead('p.synced_at')},
         CASE WHEN p.phase <> 'idle' AND p.problem IS NULL THEN ${unlessAhead('p.started_at')} END
       ) <= now() - make_interval(secs => CAST(:overdueMs AS double precision) / 1000)`,
    { overdueMs },
  );
  return rows[0]?.count ?? 0;
}

function unlessAhead(time: string): string {
  return `CASE WHEN NOT ${isAhead(time)} THEN ${time} END`;
}

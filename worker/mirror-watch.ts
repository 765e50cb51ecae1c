import type { Database } from '../shared/database/connect.js';
import { countOverdueMirrors } from '../shared/database/overdue-mirrors.js';
import type { Logger } from '../shared/runtime/logger.js';
import { periodically } from '../shared/runtime/periodically.js';
import type { Rounds } from '../shared/runtime/periodically.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';
import type { WorkerMetrics } from './worker-metrics.js';

const lookEveryMs = 60_000;
/** A mirror is overdue after two intervals. With a short one, the minute between two looks would make it late. */
const overdueMsMin = 3_600_000;

interface Deps {
  database: Database;
  /** How often a shop is due. */
  everyMs: number;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'mirrorsOverdue'>;
}

/**
 * Counts the mirrors that are overdue, whoever was to bring them in: that a worker has no PLATFORM_TOKEN_KEY, or is
 * busy with one shop, must not hide them.
 */
export function startMirrorWatch({ database, everyMs, logger, metrics }: Deps): Rounds {
  const overdueMs = Math.max(2 * everyMs, overdueMsMin);
  return periodically(
    lookEveryMs,
    async () => metrics.mirrorsOverdue(await countOverdueMirrors(database, overdueMs)),
    logRecurring(logger, 'Overdue platform mirrors could not be counted.'),
  );
}

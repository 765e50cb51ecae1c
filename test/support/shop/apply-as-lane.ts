import { pino } from 'pino';
import type { Logger } from 'pino';
import type { Database } from '../../../shared/database/connect.js';
import type { MaterialRef, Operation } from '../../../shared/domain/operation.js';
import { keyMemoryMsDefault } from '../../../shared/inventory/time-limits.js';
import { jobVersion, operationsJob } from '../../../shared/queue/job-format.js';
import { queueName } from '../../../shared/queue/names.js';
import { applyJobs } from '../../../worker/apply-jobs.js';
import { createCycleFaults } from '../../../worker/cycle-faults.js';
import { createCycleLimits } from '../../../worker/cycle-limits.js';
import type { CycleLimits } from '../../../worker/cycle-limits.js';
import type { LaneDeps } from '../../../worker/lane-deps.js';
import { createWorkerMetrics } from '../../../worker/worker-metrics.js';

interface LaneOptions extends Partial<CycleLimits> {
  endMs?: number;
  deliveries?: number;
  isMisdirected?: boolean;
  metrics?: LaneDeps['metrics'];
  logger?: Logger;
}

/** Applies operations as a worker's lane does when it has just taken them, without Redis; each has a job of its own. */
export function applyAsLane(
  database: Database,
  given: readonly (MaterialRef & { operations: Operation[]; version?: number })[],
  {
    deliveries = 1,
    isMisdirected = false,
    metrics = createWorkerMetrics(),
    logger = pino({ level: 'silent' }),
    ...taken
  }: LaneOptions = {},
) {
  const ledgerWatch = { changed: () => undefined };
  const faults = createCycleFaults(logger);
  const deps = { database, logger, faults, keyMemoryMs: keyMemoryMsDefault, metrics, ledgerWatch };
  const jobs = given.map(({ operations, version = jobVersion, ...ref }, index) => {
    const content = { ...operationsJob('nobody', operations), version };
    return {
      id: `job-${index}`,
      queue: queueName(ref),
      token: 'token',
      deliveries,
      content,
      isMisdirected,
      weight: operations.length,
    };
  });
  const limits = { ...createCycleLimits({ nowMs: Date.now, isStopping: () => false, ...taken }), ...taken };
  return applyJobs(deps as unknown as LaneDeps, jobs, limits);
}

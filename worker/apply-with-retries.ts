import {
  isBlameless,
  isDriverTimeout,
  isPreparedStatementFault,
  isServerTimeout,
  isTransient,
} from '../shared/database/errors.js';
import { assertTakesWrites } from '../shared/database/takes-writes.js';
import { applyOperations } from '../shared/inventory/apply-operations.js';
import type { OperationGroup } from '../shared/inventory/decide.js';
import { queueName } from '../shared/queue/names.js';
import type { CycleLimits } from './cycle-limits.js';
import type { JobsReport } from './jobs-report.js';
import type { LaneDeps } from './lane-deps.js';

/** The operations of a material, from several jobs. */
export interface JobGroup extends OperationGroup {
  /** How many jobs brought its operations; a part of its operations keeps the number of all. */
  jobs: number;
}

function sumOfJobs(groups: JobGroup[]): number {
  return groups.reduce((sum, { jobs }) => sum + jobs, 0);
}

/**
 * How often a transaction runs at most that meets passing faults, before its materials are given back. If the lane is
 * to stop, or the cycle has lasted too long, it runs once: while Postgres is silent, each run takes seconds.
 */
const attemptsMax = 3;

/**
 * One transaction, which runs again if it meets a passing fault.
 *
 * @throws the last fault. If a session ended while it worked on these operations, and later attempts got no session at
 *   all, what ended it is thrown instead: otherwise an operation that brings Postgres down would look like a Postgres
 *   that is away (`isBlameless`), and its deliveries would not be counted (`lane.ts`).
 */
export async function applyWithRetries(
  deps: LaneDeps,
  groups: JobGroup[],
  { nowMs, tryBegin }: Pick<CycleLimits, 'nowMs' | 'tryBegin'>,
): Promise<JobsReport> {
  let atWork: unknown;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const startedAtMs = performance.now();
      const report = await applyOperations(deps.database, groups, { nowMs, keyMemoryMs: deps.keyMemoryMs });
      const seconds = (performance.now() - startedAtMs) / 1_000;
      const { outcomes, leftOut } = report;
      const notDone = new Set(leftOut.map(queueName));
      const done = notDone.size === 0 ? groups : groups.filter((group) => !notDone.has(queueName(group)));
      deps.metrics.committed({ ...report, jobs: sumOfJobs(done), materials: done.length, seconds });
      deps.faults.committed();
      deps.ledgerWatch.changed(done);
      return { outcomes, leftOut: notDone };
    } catch (error) {
      if (isServerTimeout(error)) deps.faults.overstayed(error);
      else if (!mayPass(error)) deps.logger.error({ err: error, materials: groups.length }, 'A transaction failed.');
      if (!isBlameless(error)) atWork = error;
      if (attempt >= attemptsMax || !mayPassAtOnce(error) || !tryBegin()) throw atWork ?? error;
      // If commits wait for a standby that is away, each further one would leave another waiting session in Postgres.
      if (isDriverTimeout(error)) {
        await assertTakesWrites(deps.database);
        // That may have taken seconds.
        if (!tryBegin()) throw atWork ?? error;
      }
      deps.metrics.retried();
      deps.faults.runsAgain(error);
    }
  }
}

/**
 * Whether the same operations may succeed later, on another connection or in smaller parts. They may be to blame all
 * the same (`isBlameless`).
 */
export const mayPass = (error: unknown) => isTransient(error) || isPreparedStatementFault(error);

/** Whether they may at once and at the same size: what overstayed its time would overstay it again. */
const mayPassAtOnce = (error: unknown) => mayPass(error) && !isServerTimeout(error);

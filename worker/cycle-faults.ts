import { reasonWithoutStatement } from '../shared/database/errors.js';
import type { Logger } from '../shared/runtime/logger.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';
import type { RecurringFault } from '../shared/runtime/recurring-fault.js';

/**
 * What the lanes of a worker process say of faults, all of them together: each meets those of Redis and Postgres in
 * every cycle, and a table that Postgres refused filled the log with fifteen lines a second.
 */
export interface CycleFaults {
  /** Postgres ended a transaction that took, or waited for a lock, too long. */
  overstayed: (error: unknown) => void;
  /** A transaction met a fault that may pass at once. */
  runsAgain: (error: unknown) => void;
  /** A cycle ended with a fault. */
  gaveUp: (error: unknown) => void;
  /** Told whether Redis and Postgres take writes, of which a lane assures itself after a cycle that it gave up. */
  waits: RecurringFault;
  committed: () => void;
  /** When a lane last committed, or found that both take writes, by `performance.now()`; -Infinity before the first. */
  lastUseMs: () => number;
}

/**
 * A fault is over once something has succeeded and it was not met for this long. The next commit alone says little:
 * where one material is at fault, other lanes commit all the while.
 */
const quietMsMin = 5_000;

export function createCycleFaults(logger: Logger, quietMs = quietMsMin): CycleFaults {
  const lasting = (what: string) => untilQuiet(logRecurring(logger, what, reasonWithoutStatement), quietMs);
  const overstays = lasting('A transaction overstayed its time.');
  const retries = lasting('A transaction met a passing fault and runs again.');
  const givenUp = lasting('A cycle was given up and is tried again.');
  const waits = lasting('Nothing is taken until Redis and Postgres take writes of ours.');
  let lastUseMs = -Infinity;
  return {
    overstayed: overstays.failed,
    runsAgain: retries.failed,
    gaveUp: givenUp.failed,
    waits: {
      failed: waits.failed,
      passed() {
        lastUseMs = performance.now();
        waits.passed();
      },
    },
    committed() {
      lastUseMs = performance.now();
      for (const fault of [overstays, retries, givenUp]) fault.passed();
    },
    lastUseMs: () => lastUseMs,
  };
}

/** Passes a success on if no failure follows it within `quietMs`. */
function untilQuiet(fault: RecurringFault, quietMs: number): RecurringFault {
  let isMet = false;
  let ending: NodeJS.Timeout | undefined;
  return {
    failed(error) {
      isMet = true;
      clearTimeout(ending);
      ending = undefined;
      fault.failed(error);
    },
    passed() {
      if (!isMet || ending !== undefined) return;
      ending = setTimeout(() => {
        isMet = false;
        ending = undefined;
        fault.passed();
      }, quietMs);
      // Saying it must not be what keeps a process alive.
      ending.unref();
    },
  };
}

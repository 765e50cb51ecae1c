import type { Logger } from './logger.js';

/** Told of each attempt at what may fail again and again, many times a second maybe. */
export interface RecurringFault {
  failed: (error: unknown) => void;
  passed: () => void;
}

/**
 * Logs such a fault once for each reason; anew once an attempt went well.
 *
 * @param reasonOf the part of a fault that is the same each time
 */
export function logRecurring(logger: Logger, what: string, reasonOf: (error: unknown) => string): RecurringFault {
  const said = new Set<string>();
  return {
    failed(error) {
      const reason = reasonOf(error);
      if (said.has(reason)) return;
      said.add(reason);
      logger.warn({ err: error }, what);
    },
    passed() {
      said.clear();
    },
  };
}

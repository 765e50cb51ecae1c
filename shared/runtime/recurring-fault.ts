import { reasonOf } from '../domain/reason-of.js';
import type { Logger } from './logger.js';

/** Told of each attempt at something that may keep failing, perhaps many times a second. */
export interface RecurringFault {
  failed: (error: unknown) => void;
  passed: () => void;
}

/**
 * Logs a fault as a warning, once for each reason until an attempt succeeds, and then that it is over.
 *
 * @param reason the part of a fault that is the same each time
 */
export function logRecurring(
  logger: Logger,
  what: string,
  reason: (error: unknown) => string = reasonOf,
): RecurringFault {
  const said = new Set<string>();
  return {
    failed(error) {
      const told = reason(error);
      if (said.has(told)) return;
      said.add(told);
      logger.warn({ err: error }, what);
    },
    passed() {
      if (said.size === 0) return;
      said.clear();
      logger.info(`This is over: ${what}`);
    },
  };
}

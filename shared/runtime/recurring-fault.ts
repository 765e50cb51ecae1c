import type { Logger } from './logger.js';

/** Told of each attempt what it failed of, or nothing where it did not. */
export type RecurringFault = (error?: unknown) => void;

/**
 * Logs what fails again and again, many times a second maybe, once for each reason; anew once an attempt went well.
 *
 * @param reasonOf the part of a fault that is the same each time
 */
export function logRecurring(logger: Logger, what: string, reasonOf: (error: unknown) => string): RecurringFault {
  const said = new Set<string>();
  return (error) => {
    if (error === undefined) {
      said.clear();
      return;
    }
    const reason = reasonOf(error);
    if (said.has(reason)) return;
    said.add(reason);
    logger.warn({ err: error }, what);
  };
}

import type { RecurringFault } from './recurring-fault.js';

export interface Rounds {
  /** Ends the rounds: aborts the signal of one that is under way, and waits for it. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Runs a round at once and then at every interval, but never two at a time: intervals that end during a round are
 * skipped. A round that fails is reported to `fault`, and the next one tries again.
 *
 * Not for renewing leases, where a plain timer is used: a renewal must not wait for the one before it, whose answer may
 * be lost.
 */
export function periodically(
  everyMs: number,
  round: (signal: AbortSignal) => Promise<unknown>,
  fault: RecurringFault,
): Rounds {
  const abort = new AbortController();
  let underWay: Promise<void> | undefined;
  const begin = () => {
    underWay ??= round(abort.signal)
      .then(fault.passed, fault.failed)
      .finally(() => (underWay = undefined));
  };
  begin();
  const timer = setInterval(begin, everyMs);
  // Background work does not keep a process alive.
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      abort.abort();
      await underWay;
    },
  };
}

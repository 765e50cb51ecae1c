import type { RecurringFault } from './recurring-fault.js';

export interface Rounds {
  /** Ends the rounds, and waits for one under way, which is told by its signal. Rejects never. */
  stop(): Promise<void>;
}

/**
 * Does something at once and then at every interval, but never beside itself: where a round takes longer than the
 * interval, the next one waits for a later beat of it. A round that fails is told to `fault`, and the next one tries
 * again.
 *
 * For what stands for itself. What only accompanies something else is a timer there: the renewal of a lease must
 * neither be waited for nor wait for the one before it, whose answer may be lost.
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
  // What a process is there for keeps it alive, not what it does beside that.
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      abort.abort();
      await underWay;
    },
  };
}

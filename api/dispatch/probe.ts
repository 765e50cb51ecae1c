import type { RecurringFault } from '../../shared/runtime/recurring-fault.js';

export interface Probe {
  /** Asks at once and resolves when that is answered; while an answer is awaited already, does nothing. */
  askNow(): Promise<void>;
  stop(): void;
}

/**
 * Asks the same again and again, one at a time: seldom while all is well, often while it is not. What failed counts as
 * not well, so a short fault is over before its last good answer is too old. Begins with the first `askNow`.
 *
 * @param ask resolves with whether all is well; if it rejects, it is not
 * @param fault told each time that it failed, and that all was well
 */
export function createProbe(
  ask: () => Promise<boolean>,
  every: { wellMs: number; unwellMs: number },
  fault?: RecurringFault,
): Probe {
  let timer: NodeJS.Timeout | undefined;
  let isAsking = false;
  let isStopped = false;

  async function askNow(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    clearTimeout(timer);
    const isWell = await ask().then(
      (answer) => {
        if (answer) fault?.passed();
        return answer;
      },
      (error: unknown) => {
        fault?.failed(error);
        return false;
      },
    );
    isAsking = false;
    if (!isStopped) timer = setTimeout(() => void askNow(), isWell ? every.wellMs : every.unwellMs);
  }

  return {
    askNow,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

import type { RecurringFault } from '../../shared/runtime/recurring-fault.js';

export interface RecurringQuestion {
  /** Asks at once and resolves when that is answered; if a question is under way already, does nothing. */
  now(): Promise<void>;
  stop(): void;
}

/**
 * Asks the same question again and again, one at a time: seldom while all is well, often while it is not. A question
 * that failed counts as not well, so a short fault is over before its last good answer is too old.
 *
 * @param ask resolves with whether all is well; if it rejects, it is not
 * @param fault told of each question that failed, and of each whose answer is that all is well
 */
export function keepAsking(
  ask: () => Promise<boolean>,
  every: { wellMs: number; unwellMs: number },
  fault?: RecurringFault,
): RecurringQuestion {
  let timer: NodeJS.Timeout | undefined;
  let isAsking = false;
  let isStopped = false;

  async function now(): Promise<void> {
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
    if (!isStopped) timer = setTimeout(() => void now(), isWell ? every.wellMs : every.unwellMs);
  }

  return {
    now,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

import type { RecurringFault } from '../../shared/runtime/recurring-fault.js';

export interface KeptAsking {
  /** Asks at once and resolves when it is answered; if a question is under way, resolves at once without asking. */
  now(): Promise<void>;
  stop(): void;
}

/**
 * Asks again and again, one question at a time: seldom while all is well, often while it is not. A question that failed
 * counts as not well, so that a fault that is over by the next question is seen to be over before anyone hears of it.
 *
 * @param ask resolves with whether all is well; where it throws, it is not
 * @param fault told of each question whether it threw
 */
export function keepAsking(
  ask: () => Promise<boolean>,
  every: { wellMs: number; unwellMs: number },
  fault?: RecurringFault,
): KeptAsking {
  let timer: NodeJS.Timeout | undefined;
  let isAsking = false;
  let isStopped = false;

  async function now(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    clearTimeout(timer);
    const isWell = await ask().then(
      (answer) => {
        fault?.passed();
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

/** A wait in which only the time counts that this process ran. */
export interface RunningWait {
  /** The value of a promise, or `late` once the wait is over. A rejection before that is passed on. */
  within: <T, Late>(promise: Promise<T>, late: Late) => Promise<T | Late>;
  isOver: () => boolean;
  /** From now on the wait never ends; a `within` under way waits for its promise alone. */
  stop: () => void;
}

/** To be stopped once nobody waits any more: until its end it keeps the process alive. */
export function startRunningWait(waitMs: number): RunningWait {
  let isOver = false;
  let tell: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (tell = resolve));
  const stop = afterRunning(waitMs, () => {
    isOver = true;
    tell();
  });
  return { within: (promise, late) => Promise.race([promise, over.then(() => late)]), isOver: () => isOver, stop };
}

export const tickMs = 100;
/**
 * A tick counts for no more than this. If it took longer, this process was busy or stood still, and read nothing.
 */
const countedMsMax = 150;

/**
 * Calls back when this process has run for so long. A plain timer would blame others for our own delays: after a long
 * turn of the event loop, or a standstill, it fires before the sockets are read in which the answer may lie. In the
 * first second of an overload, 2,592 of 7,537 good keys were a 503 that said Postgres was away. So the wait is divided
 * into ticks, none of which counts for more than it would in a process that runs, and the sockets are read between two
 * ticks, and before the call.
 *
 * @returns what stops the wait
 */
export function afterRunning(waitMs: number, callBack: () => void): () => void {
  let leftMs = waitMs;
  let timer: NodeJS.Timeout | undefined;
  let lastTurn: NodeJS.Immediate | undefined;

  function tick(): void {
    const sinceMs = performance.now();
    timer = setTimeout(
      () => {
        leftMs -= Math.min(performance.now() - sinceMs, countedMsMax);
        // A timer may come a part of a millisecond early.
        if (leftMs >= 1) tick();
        else lastTurn = setImmediate(callBack);
      },
      Math.min(tickMs, leftMs),
    );
  }

  tick();
  return () => {
    clearTimeout(timer);
    clearImmediate(lastTurn);
  };
}

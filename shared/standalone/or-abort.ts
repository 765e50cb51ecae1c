/** @throws an error that says `why`, once the signal is aborted; what becomes of the promise then is heard by nobody */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal, why: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Error(why));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

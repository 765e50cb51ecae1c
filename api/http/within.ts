/** The value of a promise, or `late` when it takes longer than `waitMsMax`. A rejection before that is passed on. */
export async function within<T, Late>(promise: Promise<T>, waitMsMax: number, late: Late): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Late>((resolve) => {
    timer = setTimeout(resolve, waitMsMax, late);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

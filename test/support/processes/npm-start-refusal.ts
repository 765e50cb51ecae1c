import { until } from '../time/until.js';
import type { Started } from './npm-start.js';

/** T19 (reliability §2): within this time it works, or it exits with a message that says what to do. */
const refusalMsMax = 15_000;

export interface Refusal {
  code: number | null;
  output: string;
}

/** How a start ends that cannot work. */
export async function refusal(started: Started): Promise<Refusal> {
  let code: number | null | undefined;
  void started.exited.then((end) => (code = end.code));
  try {
    await until(() => code !== undefined, {
      deadlineMs: refusalMsMax,
      what: () => `npm start to give up; it said:\n${started.output()}`,
    });
  } finally {
    started.kill('SIGTERM');
    await started.exited;
  }
  return { code: code ?? null, output: started.output() };
}

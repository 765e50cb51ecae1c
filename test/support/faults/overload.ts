import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { rememberOpen } from '../processes/cleanup.js';
import type { OverloadCall, OverloadResult } from './overload-generator.js';

/** A process of its own that makes load; see overload-generator.ts. */
export interface Overload {
  /** Rejects where a request is never answered. One run at a time. */
  run(call: OverloadCall): Promise<OverloadResult>;
  close(): Promise<void>;
}

export function startOverload(): Overload {
  const script = fileURLToPath(new URL('./overload-generator.ts', import.meta.url));
  const child = fork(script, { execArgv: ['--import', 'tsx'] });
  const exited = once(child, 'exit');
  const close = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  const forget = rememberOpen({
    name: 'the generator of an overload',
    forWholeRun: false,
    close,
    closeNow: () => void child.kill('SIGKILL'),
  });
  return {
    async run(call) {
      child.send(call);
      const answered = once(child, 'message') as Promise<[{ result: OverloadResult } | { error: string }]>;
      const ended = exited.then(() => Promise.reject(new Error('the generator has ended')));
      const [answer] = await Promise.race([answered, ended]);
      if ('error' in answer) throw new Error(answer.error);
      return answer.result;
    },
    close: async () => {
      forget();
      await close();
    },
  };
}

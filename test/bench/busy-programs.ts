import { spawn } from 'node:child_process';
import { rememberOpen } from '../support/processes/cleanup.js';

/** Ends by itself, so that none goes on burning CPU if this process is killed. */
const program = 'const end = Date.now() + 60_000; while (Date.now() < end);';

/** Programs that have nothing to do with the service and want a core each, for at most a minute. */
export function startBusyPrograms(count: number): { stop(): void } {
  const stops = Array.from({ length: count }, () => {
    const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
    const closeNow = () => void child.kill('SIGKILL');
    const close = () => Promise.resolve(closeNow());
    const forget = rememberOpen({ name: 'a busy program', forWholeRun: false, close, closeNow });
    return () => {
      closeNow();
      forget();
    };
  });
  return {
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

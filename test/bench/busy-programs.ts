import { spawn } from 'node:child_process';
import { rememberOpen } from '../support/processes/cleanup.js';

/** They end by themselves, so that none goes on burning CPU if this process is killed. */
const spareMs = 60_000;

/** Programs that have nothing to do with the service and want a core each, for as long as `ms` unless they are stopped. */
export function startBusyPrograms(count: number, ms: number): { stop(): void } {
  const program = `const end = Date.now() + ${ms + spareMs}; while (Date.now() < end);`;
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

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { endProcess, startOf } from '../../../shared/standalone/processes.js';
import { rememberOpen } from './cleanup.js';

const startMsMax = 30_000;
const endMsMax = 5_000;

/**
 * Calls a start function of shared/standalone in a Node process of its own and kills that with −9 once it is there: the
 * server stays behind, as after `kill -9` of `npm start`. If nobody takes it over, it is ended with the run.
 */
export async function leaveBehind(call: {
  module: string;
  name: string;
  options: object;
}): Promise<{ pid: number; port: number }> {
  const url = new URL(`../../../shared/standalone/${call.module}`, import.meta.url).href;
  const code = `
    const { ${call.name}: start } = await import(${JSON.stringify(url)});
    const started = await start({ ...${JSON.stringify(call.options)}, say: () => {}, env: process.env });
    console.log(JSON.stringify(started.value ?? started));
    setInterval(() => {}, 1000);`;
  const args = ['--import', 'tsx', '--input-type=module', '-e', code];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: startMsMax });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as [string | undefined];
  child.kill('SIGKILL');
  await exited;
  const server = JSON.parse(line ?? '{}') as { pid?: number; port?: number; problem?: string };
  if (server.pid === undefined || server.port === undefined)
    throw new Error(server.problem ?? `${call.name} said nothing`);
  const { pid, port } = server;
  const start = startOf(pid);
  const isStillIt = () => start !== undefined && startOf(pid) === start;
  rememberOpen({
    name: call.name,
    forWholeRun: true,
    close: async () => {
      if (isStillIt()) await endProcess(pid, [{ name: 'SIGKILL', msMax: endMsMax }]);
    },
    closeNow: () => {
      if (isStillIt()) process.kill(pid, 'SIGKILL');
    },
  });
  return { pid, port };
}

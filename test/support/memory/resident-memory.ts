import { execFileSync } from 'node:child_process';

/** The memory of a process that is in RAM, in MiB, as the system counts it. */
export function residentMib(pid: number): number {
  const kib = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim());
  return Math.round(kib / 1_024);
}

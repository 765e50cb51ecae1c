import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { statFields } from '../../shared/standalone/processes.js';
import { msATick, readMachineTime } from '../support/time/machine-time.js';

/** The processes that a round's time is split among; `bench` is what only the benchmark needs. */
export type ProcessRole = 'api' | 'worker' | 'redis' | 'postgres' | 'generator' | 'bench';

export type RolePids = Readonly<Record<ProcessRole, readonly number[]>>;

/** CPU time spent so far, in milliseconds. `machine` is what all processes spent and the host took. */
export type CpuTimes = Record<ProcessRole | 'machine', number>;

/** Undefined where the system has no /proc, as macOS. */
export function readCpuTimes(pids: RolePids): CpuTimes | undefined {
  const machine = readMachineTime();
  if (machine === undefined) return undefined;
  const roles = Object.entries(pids).map(([role, members]) => [
    role,
    // The benchmark's own process without its children: everything else here is one, or was.
    sum(members.map(role === 'bench' ? ownMs : familyMs)),
  ]);
  return { ...(Object.fromEntries(roles) as Record<ProcessRole, number>), machine: machine.busyMs + machine.stolenMs };
}

export function spentBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return Object.fromEntries(
    Object.entries(after).map(([role, ms]) => [role, ms - before[role as keyof CpuTimes]]),
  ) as CpuTimes;
}

/** What no process of the benchmark spent: while others use the machine or its host, its figures are worth less. */
export function foreignMs({ machine, ...roles }: CpuTimes): number {
  return Math.max(0, machine - sum(Object.values(roles)));
}

/** The most memory that a process has held so far, in MiB; undefined where the system does not tell. */
export function peakMemoryMib(pid: number): number | undefined {
  if (!existsSync(`/proc/${pid}/status`)) return undefined;
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kib === undefined ? undefined : Math.round(Number(kib) / 1_024);
}

/** Resets the peak, so that it is that of what comes next; if the system does not let us, it stays the highest ever. */
export function forgetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // No /proc, or not ours to reset.
  }
}

/** The memory that a process holds now, in MiB; undefined where the system does not tell. */
export function memoryMib(pid: number): number | undefined {
  if (!existsSync(`/proc/${pid}/status`)) return undefined;
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kib === undefined ? undefined : Math.round(Number(kib) / 1_024);
}

/** Its own time and that of its children, the ended ones included: Postgres has a process for each connection. */
function familyMs(pid: number): number {
  return timesMs(pid, 4) + sum(childrenOf(pid).map(familyMs));
}

function ownMs(pid: number): number {
  return timesMs(pid, 2);
}

/** So many of utime, stime, cutime and cstime: fields 14 to 17. */
function timesMs(pid: number, count: 2 | 4): number {
  // One without fields ended since its parent was asked; its time is then in the parent's own count.
  const fields = statFields(pid) ?? [];
  return sum(fields.slice(11, 11 + count).map(Number)) * msATick;
}

function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

import { existsSync, readFileSync } from 'node:fs';

/** What the cores of this machine spent so far, in milliseconds. */
export interface MachineTime {
  /** By any process or by the kernel: user, nice, system, irq, softirq. */
  busyMs: number;
  /** Processes could have run, but a host that is short of CPU gave it to other machines: steal. */
  stolenMs: number;
}

/**
 * USER_HZ, in which Linux tells CPU times to programs, is 100 on every architecture that Node runs on (proc_stat(5)).
 */
export const msATick = 10;

/** Undefined where the system has no /proc, as macOS. */
export function readMachineTime(): MachineTime | undefined {
  if (!existsSync('/proc/stat')) return undefined;
  const [all = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = all.split(/ +/).slice(1).map(Number);
  return { busyMs: (user + nice + system + irq + softirq) * msATick, stolenMs: steal * msATick };
}

/** Of the CPU time that processes wanted, the part the host took, 0 to 1; undefined where the system does not tell. */
export function stolenPart(before: MachineTime | undefined, after: MachineTime | undefined): number | undefined {
  if (before === undefined || after === undefined) return undefined;
  const stolenMs = after.stolenMs - before.stolenMs;
  return stolenMs <= 0 ? 0 : stolenMs / (stolenMs + after.busyMs - before.busyMs);
}

/** Begins to watch; what it returns says how many ms of CPU time the host took since then, 0 where it does not tell. */
export function watchStolenMs(): () => number {
  const stolenMs = () => readMachineTime()?.stolenMs ?? 0;
  const before = stolenMs();
  return () => stolenMs() - before;
}

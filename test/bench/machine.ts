import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { readMachineTime, stolenPart } from '../support/time/machine-time.js';

/** What the figures were measured on; a ratio travels from one machine to another, a figure does not. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGib: number;
  system: string;
  node: string;
  versions: Record<string, string>;
  /** Over the last minute, before anything was started. */
  loadAverage: number;
}

const bytesAGib = 1_024 ** 3;

export function describeMachine(): Machine {
  const all = cpus();
  const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const versions = Object.fromEntries(
    ['bullmq', 'ioredis', 'knex', 'pg', 'koa'].map((name) => [name, dependencies[name] ?? 'unknown']),
  );
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGib: Math.round(totalmem() / bytesAGib),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.versions.node,
    versions,
    loadAverage: loadNow(),
  };
}

export function loadNow(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}

/** Begins to watch; what it returns says which part of the CPU time wanted here the host has taken since then. */
export function watchHost(): () => number | undefined {
  const before = readMachineTime();
  return () => stolenPart(before, readMachineTime());
}

/** For the end of a sentence; nothing where the system does not tell. */
export function hostText(part: number | undefined): string {
  return part === undefined ? '' : `; the host took ${(100 * part).toFixed(1)} % of the CPU time for others`;
}

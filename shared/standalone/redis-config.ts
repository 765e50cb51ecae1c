import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from './data-folder.js';

/** How the private Redis of a folder is reached. */
export interface RedisConfig {
  port: number;
  password: string;
}

export const configPath = (dir: string) => join(dir, 'redis.conf');
export const logPath = (dir: string) => join(dir, 'redis.log');
export const urlOf = ({ port, password }: RedisConfig) => `redis://:${password}@127.0.0.1:${port}`;

/** Only directives that 6.2 knows. `save ""`: the append-only file is the one copy, as in the compose file. */
export function writeConfig(dir: string, { port, password }: RedisConfig): void {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(dir)}`,
    `pidfile ${JSON.stringify(join(dir, 'redis.pid'))}`,
    'daemonize no',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    'maxmemory-policy noeviction',
  ];
  writeWhole(configPath(dir), `${lines.join('\n')}\n`);
}

/** What an earlier start wrote, if anything. */
export function readConfig(dir: string): RedisConfig | undefined {
  if (!existsSync(configPath(dir))) return undefined;
  const text = readFileSync(configPath(dir), 'utf8');
  const port = Number(/^port (\d+)$/m.exec(text)?.[1]);
  const password = /^requirepass (\S+)$/m.exec(text)?.[1];
  return Number.isInteger(port) && password ? { port, password } : undefined;
}

/** The process that last ran in this folder; it may be long gone. */
export function readPid(dir: string): number | undefined {
  const path = join(dir, 'redis.pid');
  const pid = existsSync(path) ? Number(readFileSync(path, 'utf8').trim()) : NaN;
  return Number.isInteger(pid) && pid > 0 ? pid : undefined;
}

import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { execute } from './execute.js';
import { temporaryFolder } from '../temporary-folder.js';
import type { TestRedis } from '../processes/servers.js';
import { until } from '../time/until.js';

/** A store as it was at a moment. */
export interface BackUp {
  /** Puts the store back to that moment, under its old address, whoever uses it. */
  restore(): Promise<void>;
  remove(): Promise<void>;
}

/** Copies a database, as pg_dump or a base backup would; its sessions are ended for it. */
export async function backUpDatabase(url: string): Promise<BackUp> {
  const name = new URL(url).pathname.slice(1);
  const copy = `${name}_backup`;
  const maintenance = new URL(url);
  maintenance.pathname = '/postgres';
  const run = async (...statements: string[]) => {
    for (const statement of statements) await execute(maintenance.href, statement);
  };
  // Postgres copies only what nobody is connected to, and the service would reconnect within milliseconds.
  await run(
    `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    `CREATE DATABASE ${copy} TEMPLATE ${name}`,
    `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`,
  );
  return {
    restore: () => run(`DROP DATABASE ${name} WITH (FORCE)`, `CREATE DATABASE ${name} TEMPLATE ${copy}`),
    remove: () => run(`DROP DATABASE ${copy}`),
  };
}

/** Copies the append-only file of a Redis that runs. Nothing here is so large that it would be rewritten meanwhile. */
export async function backUpRedis(server: TestRedis): Promise<BackUp> {
  const folder = await temporaryFolder();
  const redis = new Redis(server.url, { retryStrategy: () => null });
  const [, dir = ''] = await redis.config('GET', 'dir');
  // While an fsync is under way, Redis answers first and writes up to two seconds later (`appendfsync everysec`).
  const isWritten = async () => /^aof_buffer_length:0\r?$/m.test(await redis.info('persistence'));
  await until(isWritten, { deadlineMs: 10_000, what: 'all that was answered in the append-only file' });
  redis.disconnect();
  // From 7 on a folder of files, before that one file.
  const names = readdirSync(dir).filter((name) => name.startsWith('appendonly'));
  if (names.length === 0) throw new Error(`no append-only file in ${dir}`);
  for (const name of names) cpSync(join(dir, name), join(folder.path, name), { recursive: true });
  return {
    restore: async () => {
      await server.kill();
      for (const name of names) {
        rmSync(join(dir, name), { recursive: true });
        cpSync(join(folder.path, name), join(dir, name), { recursive: true });
      }
      await server.restart();
    },
    remove: () => folder.remove(),
  };
}

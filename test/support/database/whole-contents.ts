import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Database } from '../../../shared/database/connect.js';

/** Every row of every table of the service's database as text, bytes as `\x…`, a line each. */
export async function contentsOfDatabase(database: Database): Promise<string> {
  const { rows: tables } = await database.raw<{ rows: { name: string }[] }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const lines: string[] = [];
  for (const { name } of tables) {
    const { rows } = await database.raw<{ rows: { row: string }[] }>(`SELECT t::text AS row FROM ${name} t`);
    lines.push(name, ...rows.map(({ row }) => row));
  }
  return lines.join('\n');
}

/** Every key that a Redis has at this moment, with what it holds. */
export async function contentsOfRedis(redis: Redis): Promise<string> {
  const lines: string[] = [];
  for (const key of await redis.keys('*')) {
    const read = readers[await redis.type(key)];
    // It may be gone by now, or be another: these are the keys of a service at work.
    const value = await read?.(redis, key).catch(() => 'gone');
    lines.push(`${key} ${JSON.stringify(value)}`);
  }
  return lines.join('\n');
}

const readers: Record<string, (redis: Redis, key: string) => Promise<unknown>> = {
  string: (redis, key) => redis.get(key),
  hash: (redis, key) => redis.hgetall(key),
  list: (redis, key) => redis.lrange(key, 0, -1),
  set: (redis, key) => redis.smembers(key),
  zset: (redis, key) => redis.zrange(key, '0', '-1', 'WITHSCORES'),
  stream: (redis, key) => redis.xrange(key, '-', '+'),
};

/** What a Redis has written to its append-only file so far; 6.2 has one file, 7.0 and later a folder of them. */
export async function appendOnlyFile(redis: Redis): Promise<string> {
  const [, folder = ''] = await redis.config('GET', 'dir');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(aof|rdb)$/.test(name));
  return files.map((name) => readFileSync(join(folder, name), 'latin1')).join('\n');
}

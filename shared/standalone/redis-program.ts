import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { cacheFolder } from './cache-folder.js';
import { fetchDebianRedis } from './debian-redis.js';
import { isNewEnough, versionOf } from './redis-version.js';
import type { RedisProgram } from './redis-version.js';

const whatToDo =
  'Do one of these:\n' +
  '  - install one: apt-get install redis-server · dnf install valkey · brew install redis\n' +
  '  - or set REDIS_URL to a Redis of your own, for example redis://127.0.0.1:6379';

/**
 * `redis-server` or `valkey-server` on the PATH, else Debian's package unpacked into the cache folder, else a problem
 * that says what to do. npm has no usable real Redis; `js-redis-server` 0.3.0 (JavaScript, Lua in wasm) is left out: it
 * needs Node 22, and as a plain dependency it would break `npm ci` on Node 20.
 */
export async function findRedisProgram(deps: {
  say: (line: string) => void;
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}): Promise<Outcome<RedisProgram>> {
  for (const name of ['redis-server', 'valkey-server']) {
    const file = onPath(name, deps.env);
    if (!file) continue;
    const version = await versionOf({ file }, deps.env);
    if (version !== undefined && isNewEnough(version)) return { ok: true, value: { file, version, source: 'PATH' } };
    deps.say(`Redis: ${file} is ${version === undefined ? 'not runnable' : `version ${version}, and 6.2 is needed`}`);
  }
  if (!onPath('apt-get', deps.env) || !onPath('dpkg-deb', deps.env)) {
    return failed(`No redis-server and no valkey-server (6.2 or newer) is on the PATH.\n${whatToDo}`);
  }
  const cache = cacheFolder(deps.env);
  if (!cache) return failed(`No Redis is on the PATH, and no folder can be written to unpack one into.\n${whatToDo}`);
  const fetched = await fetchDebianRedis({ ...deps, cache });
  return fetched.ok ? fetched : failed(`${fetched.problem}\n${whatToDo}`);
}

function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

import { Redis } from 'ioredis';
import { keys } from '../queue/names.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { isNewEnough } from './redis-version.js';

export interface RedisFacts {
  version: string;
  pid: number;
  configFile: string;
  maxmemoryPolicy: string;
  appendOnly: boolean;
  loading: boolean;
}

const connectMsMax = 2_000;

/** What a Redis says of itself. Through INFO, which managed ones allow where they refuse CONFIG. */
export function readRedisFacts(url: string): Promise<Outcome<RedisFacts>> {
  return askRedis(url, async (redis) => parseInfo(await redis.info()));
}

/** Asks over a connection of its own, of which no step may take longer than two seconds. */
export async function askRedis<T>(url: string, ask: (redis: Redis) => Promise<T>): Promise<Outcome<T>> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectMsMax,
    commandTimeout: connectMsMax,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    retryStrategy: () => null,
  });
  let cause: string | undefined;
  redis.on('error', (error: Error) => (cause = error.message));
  try {
    await redis.connect();
    // If SELECT is refused, ioredis emits an error and goes on with database 0, which nobody asked about.
    if (cause !== undefined) return failed(cause);
    return { ok: true, value: await ask(redis) };
  } catch (error) {
    return failed(cause ?? (error as Error).message);
  } finally {
    redis.disconnect();
  }
}

/** Whether the Redis of REDIS_URL will do (platform §1): it is 6.2 or newer, never evicts a key, and takes writes. */
export async function checkRedis(url: string): Promise<Outcome<RedisFacts>> {
  const asked = await readRedisFacts(url);
  if (!asked.ok) return failed(redisProblem(asked.problem));
  const { version, maxmemoryPolicy } = asked.value;
  if (!isNewEnough(version)) {
    return failed(`The Redis of REDIS_URL is version ${version}; 6.2 or newer is needed, or any Valkey.`);
  }
  if (maxmemoryPolicy !== 'noeviction') {
    return failed(
      `The Redis of REDIS_URL may throw away queued work: its maxmemory-policy is ${maxmemoryPolicy}.\n` +
        'Run: redis-cli CONFIG SET maxmemory-policy noeviction   (and write it into its configuration file)',
    );
  }
  const refusal = await writeRefusal(url);
  if (refusal !== undefined) {
    const [code = ''] = refusal.split(' ');
    return failed(`The Redis of REDIS_URL takes no writes: ${refusal}\n${writeRemedies[code] ?? 'See its log.'}`);
  }
  return asked;
}

/** By the code that a refusal of a write begins with. */
const writeRemedies: Readonly<Record<string, string>> = {
  READONLY: 'It is a replica: let REDIS_URL lead to its primary.',
  MOVED: 'It is a node of a Redis Cluster, which the service does not use: let REDIS_URL lead to a Redis by itself.',
  OOM: 'Give it more memory (maxmemory).',
  MISCONF: 'It could not save to its disk: see its log, and whether the disk is full.',
  NOREPLICAS: 'Bring back its replicas, or lower min-replicas-to-write.',
};

/** A Redis that refuses us is running, so nobody is told to start it. */
function redisProblem(problem: string): string {
  const what = problem.replace(/\.$/, '');
  if (/\b(DB index|SELECT)\b/.test(what)) {
    return `The Redis of REDIS_URL refuses: ${what}. Mend the number of its database at the end of REDIS_URL.`;
  }
  return /^(WRONGPASS|NOAUTH|NOPERM|ERR) /.test(what)
    ? `The Redis of REDIS_URL refuses: ${what}. Mend the user or the password in REDIS_URL.`
    : `The Redis of REDIS_URL does not answer: ${what}. Start it, or mend REDIS_URL.`;
}

/** How Redis refuses a write; undefined if it takes one or is still loading. With XX nothing is written: no such key. */
async function writeRefusal(url: string): Promise<string | undefined> {
  const asked = await askRedis(url, (redis) => redis.set(keys.nothing, '', 'XX'));
  return asked.ok || asked.problem.startsWith('LOADING') ? undefined : asked.problem;
}

function parseInfo(info: string): RedisFacts {
  const fields = new Map(
    info.split(/\r?\n/).flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
    }),
  );
  return {
    version: fields.get('redis_version') ?? '0',
    pid: Number(fields.get('process_id') ?? 0),
    configFile: fields.get('config_file') ?? '',
    maxmemoryPolicy: fields.get('maxmemory_policy') ?? 'unknown',
    appendOnly: fields.get('aof_enabled') === '1',
    loading: fields.get('loading') === '1',
  };
}

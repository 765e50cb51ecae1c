import { Redis } from 'ioredis';
import { queuePrefix } from '../../shared/queue/names.js';

/** What the service leaves in Redis, and the connections that it holds. */
export interface RedisSeen {
  /** Keys of materials' queues once every request has been answered (must: 0). */
  materialKeys: number;
  /** Connections by their names; must not grow with the materials. */
  connections: Record<string, number>;
}

export interface RedisWatch {
  version: () => Promise<string>;
  look: () => Promise<RedisSeen>;
  close: () => void;
}

const scanCount = 1_000;

export function createRedisWatch(url: string): RedisWatch {
  const redis = new Redis(url, { retryStrategy: () => null });
  redis.on('error', () => undefined);
  return {
    version: async () => /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? 'unknown',
    look: async () => {
      let materialKeys = 0;
      let cursor = '0';
      do {
        const [next, keys] = await redis.scan(cursor, 'MATCH', `${queuePrefix}:*`, 'COUNT', scanCount);
        materialKeys += keys.length;
        cursor = next;
      } while (cursor !== '0');
      return { materialKeys, connections: countNames(String(await redis.client('LIST'))) };
    },
    close: () => redis.disconnect(),
  };
}

function countNames(list: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [, name = ''] of list.matchAll(/ name=(\S*)/g)) counts[name || '-'] = (counts[name || '-'] ?? 0) + 1;
  return counts;
}

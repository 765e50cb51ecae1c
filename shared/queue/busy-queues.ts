import { createRedisBackend, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { keys, queuePrefix } from './names.js';

/** The queues of the materials that have work, for the queue page. Reading them changes nothing in Redis. */
export interface BusyQueues {
  /** Sorted by when their turn comes or their lease ends, the nearest first. */
  list(): Promise<Queue[]>;
}

/**
 * @param redis a connection for this alone, so that nothing else waits behind it
 * @param max how many queues at most
 */
export async function openBusyQueues(redis: Redis, max: number, onError: (error: Error) => void): Promise<BusyQueues> {
  const options = { connection: redis, prefix: queuePrefix };
  const root = createRedisBackend('root', options);
  root.on('error', onError);
  await root.client;
  // Siblings of one backend share its connection. Without `skipMetasUpdate` each queue would write a key.
  const queues = new LRUCache<string, Queue>({
    max,
    memoMethod: (name) => {
      const queue = new Queue(name, { ...options, skipMetasUpdate: true }, () => root.forQueue(name, queuePrefix));
      // Its backend is one of Redis, which the type of `forQueue` does not say.
      return queue as unknown as Queue;
    },
  });
  return {
    async list() {
      const names = await redis.zrange(keys.scheduled, '0', String(max - 1));
      return names.map((name) => queues.memo(name));
    },
  };
}

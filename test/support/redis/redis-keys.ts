import { Redis } from 'ioredis';
import { keys, queuePrefix } from '../../../shared/queue/names.js';

/**
 * The keys that materials have in a Redis: of their queues, and of their scheduling. What belongs to the workers
 * themselves (their list, a wake-up that nobody has taken) and to the limiter is left out.
 */
export async function pipelineKeys(redisUrl: string): Promise<string[]> {
  const redis = new Redis(redisUrl, { retryStrategy: () => null });
  try {
    const all = await redis.keys('*');
    const scheduling: string[] = [keys.scheduled, keys.ready, keys.leases, keys.since];
    return all.filter(
      (key) => key.startsWith(queuePrefix) || key.startsWith(`${keys.ready}:`) || scheduling.includes(key),
    );
  } finally {
    redis.disconnect();
  }
}

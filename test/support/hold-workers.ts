import type { Redis } from 'ioredis';
import { keys } from '../../shared/queue/names.js';
import type { Service } from './service.js';

const hourMs = 3_600_000;

/**
 * Lets the workers stand still (SIGSTOP), so that what is sent waits. Lists as alive one that takes nothing, or the API
 * would refuse what comes some seconds later: it has the number of this connection, so that nobody buries it. After
 * SIGCONT the workers' own beats say how long the list lasts.
 */
export async function holdWorkers({ workers }: Service, redis: Redis): Promise<void> {
  for (const worker of workers) worker.kill('SIGSTOP');
  const id = String(await redis.client('ID'));
  await redis
    .multi()
    .zadd(keys.workers, Date.now() + hourMs, id)
    .persist(keys.workers)
    .exec();
}

import { Redis } from 'ioredis';
import { keys, queueName } from '../../../shared/queue/names.js';
import type { Proc } from './service-process.js';
import type { Service } from './service.js';

/** A beat that says more counts for nothing (`beatAheadMsMax`). */
const [listedMs, listAgainMs] = [50_000, 10_000];

/**
 * Lets workers stand still (SIGSTOP) that take nothing meanwhile. So the connections over which workers wait for work
 * are closed: while one stands there, Redis takes what is announced next for its worker, even if that stands still. A
 * worker that goes on connects anew.
 */
export async function freezeWorkers({ redisUrl }: Service, workers: readonly Proc[]): Promise<void> {
  for (const worker of workers) worker.kill('SIGSTOP');
  const redis = new Redis(redisUrl, { retryStrategy: () => null });
  try {
    for (const client of String(await redis.client('LIST')).split('\n')) {
      const [, id] = /^id=(\d+) .* name=raw-materials-wake /.exec(client) ?? [];
      if (id !== undefined) await redis.client('KILL', 'ID', id);
    }
  } finally {
    redis.disconnect();
  }
}

/**
 * Lets all workers stand still, so that what is sent waits. Lists as alive one that takes nothing, or the API would
 * refuse what comes some seconds later: it has the number of this connection, so that nobody buries it, and is listed
 * until they go on or the connection ends. After SIGCONT the workers' own beats say how long the list lasts.
 */
export async function holdWorkers(service: Service, redis: Redis): Promise<void> {
  await freezeWorkers(service, service.workers);
  const id = String(await redis.client('ID'));
  const list = () =>
    redis
      .multi()
      .zadd(keys.workers, Date.now() + listedMs, id)
      .persist(keys.workers)
      .exec();
  await list();
  const listAgain = async () => {
    // A worker that goes on has given the list an end.
    if ((await redis.pttl(keys.workers)) === -1) await list();
    else clearInterval(listing);
  };
  const listing = setInterval(() => void listAgain().catch(() => undefined), listAgainMs);
  redis.once('end', () => {
    clearInterval(listing);
  });
}

/** Holds the workers while `use` runs, over a connection of its own: once that is closed, they strike it off the list. */
export async function whileHeld<T>(service: Service, use: () => Promise<T>): Promise<T> {
  const redis = new Redis(service.redisUrl, { retryStrategy: () => null });
  try {
    await holdWorkers(service, redis);
    return await use();
  } finally {
    for (const worker of service.workers) worker.kill('SIGCONT');
    redis.disconnect();
  }
}

/**
 * Puts a place in the line of a shop before all others, of which it is not known since when it waits: so its backlog is
 * never late, however long its workers are held. They pass it over.
 */
export async function keepInTime(redis: Redis, shopId: number): Promise<void> {
  const line = `${keys.ready}:${String(shopId)}`;
  await redis
    .multi()
    .rpush(line, queueName({ shopId, materialId: 'VMAT-nobody' }))
    .rpush(keys.ready, shopId)
    .exec();
}

import type { Database } from '../../../shared/database/connect.js';
import { connectForTest } from '../database/database.js';
import { createTestDatabase, startTestRedis } from '../processes/servers.js';
import { startService, untilServing } from '../processes/service.js';
import type { Service } from '../processes/service.js';
import type { Env } from '../processes/service-process.js';
import { startFaultProxy } from './fault-proxy.js';
import type { FaultProxy } from './fault-proxy.js';

export const linkNames = ['client–API', 'API–Redis', 'API–Postgres', 'worker–Redis', 'worker–Postgres'] as const;
export type LinkName = (typeof linkNames)[number];

export interface ProxiedService {
  service: Service;
  /** The test's own connection, past all proxies. */
  database: Database;
  /** Of each link one proxy a process, in the order of the processes. */
  links: Record<LinkName, FaultProxy[]>;
  stop(): Promise<void>;
}

/**
 * A service each of whose links goes through a fault proxy of its own; clients know the APIs by their proxies alone.
 */
export async function startProxiedService(options: {
  apis: number;
  workers: number;
  env?: Env;
}): Promise<ProxiedService> {
  const redis = await startTestRedis();
  const testDatabase = await createTestDatabase();
  const databaseUrl = testDatabase.url;
  const service = await startService({ apis: 0, workers: 0, redisUrl: redis.url, databaseUrl });
  const links: ProxiedService['links'] = {
    'client–API': [],
    'API–Redis': [],
    'API–Postgres': [],
    'worker–Redis': [],
    'worker–Postgres': [],
  };
  const envThrough = async (toRedis: FaultProxy[], toPostgres: FaultProxy[]): Promise<Env> => {
    const redisProxy = await startFaultProxy({ port: redis.port });
    const postgresProxy = await startFaultProxy({ port: Number(new URL(databaseUrl).port) });
    toRedis.push(redisProxy);
    toPostgres.push(postgresProxy);
    return {
      ...options.env,
      REDIS_URL: redisProxy.through(redis.url),
      DATABASE_URL: postgresProxy.through(databaseUrl),
    };
  };
  for (let started = 0; started < options.workers; started += 1) {
    await service.startWorker(await envThrough(links['worker–Redis'], links['worker–Postgres']));
  }
  for (let started = 0; started < options.apis; started += 1) {
    const api = await service.startApi(await envThrough(links['API–Redis'], links['API–Postgres']));
    const proxy = await startFaultProxy({ port: api.port ?? 0 });
    links['client–API'].push(proxy);
    api.baseUrl = `http://127.0.0.1:${String(proxy.port)}`;
  }
  service.baseUrls = service.apis.flatMap(({ baseUrl }) => baseUrl ?? []);
  await untilServing(service);
  const database = connectForTest(databaseUrl);
  return {
    service,
    database,
    links,
    stop: async () => {
      await database.destroy();
      // Before their proxies, so that a process that cannot let go of a broken connection shows itself.
      await service.stop();
      await Promise.all(Object.values(links).flatMap((proxies) => proxies.map((proxy) => proxy.close())));
      await redis.stop();
      await testDatabase.drop();
    },
  };
}

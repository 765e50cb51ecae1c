import type { Redis } from 'ioredis';
import { startAdminServer } from '../../shared/metrics/admin-server.js';
import type { AdminServer } from '../../shared/metrics/admin-server.js';
import { watchPool, watchProcess, watchRedis } from '../../shared/metrics/gauges.js';
import type { Logger } from '../../shared/runtime/logger.js';
import type { ApiSettings } from '../config.js';
import type { Dispatch } from '../dispatch/dispatch.js';
import type { Pools } from '../pools.js';
import { watchDispatch, watchReadiness, watchReads } from './api-metrics.js';
import type { ApiMetrics } from './api-metrics.js';
import { createQueuePage } from './queue-page.js';

export interface AdminDeps {
  settings: ApiSettings;
  port: number;
  logger: Logger;
  metrics: ApiMetrics;
  pools: Pick<Pools, 'use' | 'reads'>;
  dispatch: Dispatch;
  limiterRedis: Redis;
}

/** The admin port of the API, with the page of the queues. Gauges that are read only when asked for are added here. */
export async function startAdmin(deps: AdminDeps): Promise<AdminServer> {
  const { settings, port, logger, pools, dispatch, limiterRedis } = deps;
  const { registry } = deps.metrics;
  watchProcess(registry);
  watchPool(registry, () => pools.use());
  watchReads(registry, () => pools.reads.waiting());
  watchRedis(registry, () => ({ ...dispatch.state().redis, limiter: limiterRedis.status === 'ready' }));
  watchReadiness(registry, () => dispatch.ready());
  watchDispatch(registry, () => dispatch.state());
  const page = createQueuePage({ token: settings.ADMIN_TOKEN, redisUrl: settings.REDIS_URL, logger });
  const server = await startAdminServer({
    host: settings.ADMIN_HOST,
    port,
    registry,
    handle: (req, res) => page.handle(req, res),
  });
  return {
    port: server.port,
    async close() {
      await server.close();
      page.close();
    },
  };
}

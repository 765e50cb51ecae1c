import { createApiMetrics } from '../../../api/admin/api-metrics.js';
import { createAppServer } from '../../../api/app.js';
import { apiSettings } from '../../../api/config.js';
import { createDispatch } from '../../../api/dispatch/dispatch.js';
import { createPlatformShopOpener } from '../../../api/platform-shop-opener.js';
import { createPools } from '../../../api/pools.js';
import { createShopifyPlatform } from '../../../shared/platform/shopify/shopify-platform.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import { connectLimiterRedis, untilReady } from '../../../shared/redis/connections.js';
import { createLogger } from '../../../shared/runtime/logger.js';
import { readSettings } from '../../../shared/runtime/settings.js';
import { closeConnections } from '../http/http.js';
import { platformTokenKey } from '../shop/platform.js';
import type { Env } from './service-process.js';
import type { Service } from './service.js';

export interface ApiInProcess {
  baseUrl: string;
  port: number;
  stop(): Promise<void>;
}

/**
 * The API of `api/main.ts` in the process of the test, with settings of its own. What it asks of the network can be
 * seen there, and it is started without the second of CPU that a process takes to load its modules. It is the real
 * one: real Postgres, real Redis, and the workers of a running service behind it.
 */
export async function startApiInProcess(
  { databaseUrl, redisUrl }: Pick<Service, 'databaseUrl' | 'redisUrl'>,
  env: Env = {},
): Promise<ApiInProcess> {
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const read = readSettings(apiSettings, { ...stores, LOG_LEVEL: 'silent', ...env });
  if (!read.ok) throw new Error(read.problems.join('\n'));
  const settings = read.values;
  const logger = createLogger({ name: 'api', level: settings.LOG_LEVEL, nodeEnv: settings.NODE_ENV });
  const pools = createPools(settings);
  const { database, reads } = pools;
  const limiterRedis = connectLimiterRedis(redisUrl, () => undefined);
  await untilReady(limiterRedis);
  const metrics = createApiMetrics();
  const dispatch = await createDispatch({ redisUrl, database, logger, settings, metrics: metrics.dispatch });
  const platform = createShopifyPlatform({ allowLoopback: settings.PLATFORM_ALLOW_LOOPBACK });
  const server = createAppServer({
    settings,
    logger,
    metrics,
    database,
    reads,
    dispatch,
    limiterRedis,
    platform,
    openPlatformShop: createPlatformShopOpener(createTokenCipher(platformTokenKey), logger),
  });
  const port = await server.listen(0, '127.0.0.1');
  const baseUrl = `http://127.0.0.1:${String(port)}`;
  return {
    baseUrl,
    port,
    async stop() {
      closeConnections(baseUrl);
      await server.close();
      await dispatch.close();
      limiterRedis.disconnect();
      await pools.destroy();
    },
  };
}

import { logPlatformEvents } from '../shared/platform/log-platform-events.js';
import { createShopifyPlatform } from '../shared/platform/shopify/shopify-platform.js';
import { createTokenCipher } from '../shared/platform/token-cipher.js';
import { connectLimiterRedis, onAllReady, untilReady } from '../shared/redis/connections.js';
import { takeNoArguments } from '../shared/runtime/command-help.js';
import { tuneHeap } from '../shared/runtime/heap.js';
import { createLogger } from '../shared/runtime/logger.js';
import { followParent } from '../shared/runtime/parent.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';
import { settingsOrExit } from '../shared/runtime/settings.js';
import { createShutdown } from '../shared/runtime/shutdown.js';
import { createApiMetrics } from './admin/api-metrics.js';
import { startAdmin } from './admin/start-admin.js';
import { createAppServer } from './app.js';
import { apiSettings, settingsProblems } from './config.js';
import { createDispatch } from './dispatch/dispatch.js';
import { createPlatformShopOpener } from './platform-shop-opener.js';
import { createPools } from './pools.js';

// The composition root of an API process: settings, connections, the server; closed in reverse.

takeNoArguments('npm run api', 'Serves the HTTP interface; several may run side by side.', apiSettings);
tuneHeap();
const settings = settingsOrExit(apiSettings, process.env, settingsProblems);
const logger = createLogger({ name: 'api', level: settings.LOG_LEVEL, nodeEnv: settings.NODE_ENV });
const shutdown = createShutdown({ logger, forceMs: settings.SHUTDOWN_TIMEOUT_MS });
shutdown.listen({ untilStarted: true });
const tellParent = followParent(shutdown);

const pools = createPools(settings);
const { database, reads } = pools;
shutdown.register('the database', () => pools.destroy());

const reachingRedis = logRecurring(logger, 'The limiter cannot reach Redis.');
const limiterRedis = connectLimiterRedis(settings.REDIS_URL, reachingRedis.failed);
onAllReady([limiterRedis], reachingRedis.passed);
shutdown.register('the limiter', () => limiterRedis.disconnect());

// Until Redis is there the limiter would count in memory, which admits more than the limit after each start.
await untilReady(limiterRedis);

const metrics = createApiMetrics();
const dispatch = await createDispatch({
  redisUrl: settings.REDIS_URL,
  database,
  logger,
  settings,
  metrics: metrics.dispatch,
});
shutdown.register('the dispatch', () => dispatch.close());

const platform = createShopifyPlatform({
  allowLoopback: settings.PLATFORM_ALLOW_LOOPBACK,
  report: logPlatformEvents(logger),
});
const tokenCipher =
  settings.PLATFORM_TOKEN_KEY === undefined ? undefined : createTokenCipher(settings.PLATFORM_TOKEN_KEY);

// Before the server, so that it is closed after it: a stop can be watched to its end.
const admin = await openAdmin(settings.ADMIN_PORT);

const server = createAppServer({
  settings,
  logger,
  metrics,
  database,
  reads,
  dispatch,
  limiterRedis,
  platform,
  openPlatformShop: createPlatformShopOpener(tokenCipher, logger),
});
const port = await server.listen(settings.PORT, settings.HOST);
shutdown.register('the server', () => server.close());

shutdown.started();
logger.info({ port, host: settings.HOST, ...admin }, 'listening');
tellParent({ type: 'ready', port, ...admin });

async function openAdmin(wantedPort: number | undefined): Promise<{ adminPort?: number }> {
  if (wantedPort === undefined) return {};
  const opened = await startAdmin({ settings, port: wantedPort, logger, metrics, pools, dispatch, limiterRedis });
  shutdown.register('the admin port', () => opened.close());
  return { adminPort: opened.port };
}

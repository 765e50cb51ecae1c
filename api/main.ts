import { connectDatabase } from '../shared/database/connect.js';
import { createShopifyPlatform } from '../shared/platform/shopify/shopify-platform.js';
import { createTokenCipher } from '../shared/platform/token-cipher.js';
import { connectLimiterRedis, untilReady } from '../shared/redis/connections.js';
import { createLogger } from '../shared/runtime/logger.js';
import { followParent } from '../shared/runtime/parent.js';
import { settingsOrExit } from '../shared/runtime/settings.js';
import { createShutdown } from '../shared/runtime/shutdown.js';
import { createServer } from './app.js';
import { settings as declared, settingsProblem } from './config.js';
import { createDispatch } from './dispatch/dispatch.js';

/** EX_CONFIG of sysexits.h, as `settingsOrExit` ends with. */
const exitCodeBadSettings = 78;

const settings = settingsOrExit(declared, process.env);
const problem = settingsProblem(settings);
if (problem !== undefined) {
  process.stderr.write(`The environment is not usable:\n  - ${problem}\n`);
  process.exit(exitCodeBadSettings);
}
const logger = createLogger({ name: 'api', level: settings.LOG_LEVEL });
const shutdown = createShutdown({ logger, forceMs: settings.SHUTDOWN_TIMEOUT_MS });
shutdown.listen();
const tellParent = followParent(shutdown);

const database = connectDatabase({
  url: settings.DATABASE_URL,
  poolMax: settings.DATABASE_POOL_MAX,
  applicationName: 'raw-materials-api',
  statementTimeoutMs: settings.READ_TIMEOUT_MS,
});
shutdown.register('the database', () => database.destroy());

const limiterRedis = connectLimiterRedis(settings.REDIS_URL, (error) => {
  logger.warn({ err: error }, 'the limiter cannot reach Redis');
});
shutdown.register('the limiter', () => {
  limiterRedis.disconnect();
});

// Counting in memory until it is there would admit more than the limit after each start.
await untilReady(limiterRedis);

const dispatch = await createDispatch({ redisUrl: settings.REDIS_URL, database, logger, settings });
shutdown.register('the dispatch', () => dispatch.close());

const platform = createShopifyPlatform({
  allowLoopback: settings.PLATFORM_ALLOW_LOOPBACK,
  report: (event) => logger.warn(event, 'the commerce platform'),
});
const tokenCipher =
  settings.PLATFORM_TOKEN_KEY === undefined ? undefined : createTokenCipher(settings.PLATFORM_TOKEN_KEY);

const server = createServer({ settings, logger, database, dispatch, limiterRedis, platform, tokenCipher });
const port = await server.listen(settings.PORT, settings.HOST);
shutdown.register('the server', () => server.close());

logger.info({ port, host: settings.HOST }, 'listening');
tellParent({ type: 'listening', port });

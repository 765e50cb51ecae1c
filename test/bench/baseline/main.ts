import createKnex from 'knex';
import { createApiMetrics } from '../../../api/admin/api-metrics.js';
import { createAppServer } from '../../../api/app.js';
import { apiSettings } from '../../../api/config.js';
import { createPlatformShopOpener } from '../../../api/platform-shop-opener.js';
import { createPools } from '../../../api/pools.js';
import { knexConfig } from '../../../shared/database/connect.js';
import type { Database } from '../../../shared/database/connect.js';
import { createShopifyPlatform } from '../../../shared/platform/shopify/shopify-platform.js';
import { connectLimiterRedis, untilReady } from '../../../shared/redis/connections.js';
import { tuneHeap } from '../../../shared/runtime/heap.js';
import { createLogger } from '../../../shared/runtime/logger.js';
import { settingsOrExit } from '../../../shared/runtime/settings.js';
import type { BaselineName } from '../designs.js';
import { poolDefault } from '../designs.js';
import { serveParent } from '../../load/parent-channel.js';
import { combined } from './combined.js';
import { rowTransactions } from './row-transactions.js';
import { setBased } from './set-based.js';
import type { Strategy, Submit } from './strategy.js';

/** What the benchmark starts it with; every other setting is the API's default. */
export interface BaselineEnv {
  BENCH_DESIGN: BaselineName;
  DATABASE_URL: string;
  REDIS_URL: string;
}

/**
 * The API process with another dispatch: the same HTTP stack, validation, authentication, limit check and logging, and
 * behind it a design that has no queue. A process for each.
 */
const strategies: Readonly<Record<BaselineName, Strategy>> = {
  d: rowTransactions({ withLedger: false, transactionPer: 'row' }),
  dPrime: rowTransactions({ withLedger: true, transactionPer: 'row' }),
  d1Prime: rowTransactions({ withLedger: true, transactionPer: 'request' }),
  f: setBased,
  g: combined,
};

tuneHeap();
const settings = settingsOrExit(apiSettings, process.env);
const { pipeline, createSubmit } = strategies[process.env['BENCH_DESIGN'] as BaselineEnv['BENCH_DESIGN']];
const logger = createLogger({ name: 'baseline', level: settings.LOG_LEVEL, nodeEnv: settings.NODE_ENV });

const applicationName = 'raw-materials-bench';

/**
 * Requests of 100 row transactions stand in line for a connection for seconds. That line is what is measured: the
 * service's own bound of 3 s would answer them 503.
 */
const acquireTimeoutMs = 25_000;

const connect = (poolMax: number): Database => {
  const config = knexConfig({ url: settings.DATABASE_URL, poolMax, applicationName, pipeline });
  return createKnex({ ...config, acquireConnectionTimeout: acquireTimeoutMs });
};

// For keys and reads, as in the service; the design has a pool of the size under test.
const { database, reads } = createPools(settings);
let pool: { database: Database; submit: Submit } | undefined;

async function usePool(size: number): Promise<void> {
  await pool?.database.destroy();
  const opened = connect(size);
  pool = { database: opened, submit: createSubmit(opened, size) };
}
await usePool(poolDefault);

const limiterRedis = connectLimiterRedis(settings.REDIS_URL, (error) => {
  logger.warn({ err: error }, 'The limiter cannot reach Redis.');
});
await untilReady(limiterRedis);

const server = createAppServer({
  settings,
  logger,
  metrics: createApiMetrics(),
  database,
  reads,
  dispatch: {
    submit: (ref, request) => {
      if (pool === undefined) throw new Error('no pool');
      return pool.submit(ref, request);
    },
    inHandMax: () => Infinity,
    ready: () => ({ postgres: true, redis: true, worker: true }),
  },
  limiterRedis,
  platform: createShopifyPlatform({ allowLoopback: false, report: () => undefined }),
  openPlatformShop: createPlatformShopOpener(undefined, logger),
});
const port = await server.listen(0, '127.0.0.1');

// It ends with its parent, and has nothing to save: whoever asked has been answered.
const tell = serveParent({ usePool });
tell({ type: 'ready', port });

import { connectDatabase, untilReachable } from '../shared/database/connect.js';
import { createKnownDatabase } from '../shared/database/database-identity.js';
import { reasonWithoutStatement } from '../shared/database/errors.js';
import { poolUse } from '../shared/database/pool-use.js';
import { assertMigrated } from '../shared/database/schema-state.js';
import { startAdminServer } from '../shared/metrics/admin-server.js';
import { watchPool, watchProcess, watchRedis } from '../shared/metrics/gauges.js';
import { logPlatformEvents } from '../shared/platform/log-platform-events.js';
import { loopbackProblems } from '../shared/platform/platform-settings.js';
import { createShopifyPlatform } from '../shared/platform/shopify/shopify-platform.js';
import { createTokenCipher } from '../shared/platform/token-cipher.js';
import { defineScripts } from '../shared/queue/run-script.js';
import { createWorkerPresence } from '../shared/queue/worker-presence.js';
import {
  connectWakeRedis,
  connectWorkerRedis,
  onAllReady,
  untilReady,
  untilTakesWrites,
} from '../shared/redis/connections.js';
import { takeNoArguments } from '../shared/runtime/command-help.js';
import { tuneHeap } from '../shared/runtime/heap.js';
import { createLogger } from '../shared/runtime/logger.js';
import { followParent } from '../shared/runtime/parent.js';
import { periodically } from '../shared/runtime/periodically.js';
import type { Rounds } from '../shared/runtime/periodically.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';
import { settingsOrExit } from '../shared/runtime/settings.js';
import { createShutdown } from '../shared/runtime/shutdown.js';
import { workerSettings } from './config.js';
import { createCycleFaults } from './cycle-faults.js';
import { startHousekeeping } from './housekeeping.js';
import { startLane } from './lane.js';
import { startLedgerWatch } from './ledger-watch.js';
import { createLeftOutWarning } from './left-out-warning.js';
import { startMirrorRounds } from './mirror-rounds.js';
import { startMirrorWatch } from './mirror-watch.js';
import { startPruning } from './pruning.js';
import { createWaker } from './waker.js';
import { createWorkerMetrics } from './worker-metrics.js';

// The composition root of a worker process: settings, connections, lanes; closed in reverse.

/** A connection on which Postgres is silent for this long is ended; above the statement timeout of the apply step. */
const silenceMsMax = 5_000;
/** Connections for the pruning and the ledger watch, which run beside the lanes. */
const besideLanesMax = 2;
/** How often Postgres is asked which database it is: as often as the heartbeat announces the answer. */
const askEveryMs = 1_000;
/**
 * One connection for a page's transaction, one for renewing the lease meanwhile, or, once a minute, for the watch. A
 * statement's own timeout is 5 s.
 */
const mirrorPoolMax = 2;
const mirrorSilenceMsMax = 6_000;
/**
 * A stop waits for all work at once, and each part ends after its silence at the latest. Later, the process is forced.
 */
const forceMs = 2_000 + Math.max(silenceMsMax, mirrorSilenceMsMax);

takeNoArguments('npm run worker', 'Applies what the APIs have queued; several may run side by side.', workerSettings);
tuneHeap();
const settings = settingsOrExit(workerSettings, process.env, loopbackProblems);
const { DATABASE_URL, REDIS_URL, WORKER_LANES } = settings;
const logger = createLogger({ name: 'worker', level: settings.LOG_LEVEL, nodeEnv: settings.NODE_ENV });
const shutdown = createShutdown({ logger, forceMs });
shutdown.listen({ untilStarted: true });
const tellParent = followParent(shutdown);

const reachingRedis = logRecurring(logger, 'The queue cannot reach Redis.');

const database = connectDatabase({
  url: DATABASE_URL,
  poolMax: WORKER_LANES + besideLanesMax,
  applicationName: 'raw-materials-worker',
  pipeline: true,
  answerMsMax: silenceMsMax,
});
/** Closed at once: a goodbye to a silent Postgres takes a second, and the bound of a stop has no two to spare. */
const pools = [database];
shutdown.register('postgres', async () => {
  await Promise.all(pools.map((pool) => pool.destroy()));
});

const redis = connectWorkerRedis(REDIS_URL, reachingRedis.failed);
shutdown.register('redis', () => redis.disconnect());
const wakeRedis = connectWakeRedis(REDIS_URL, reachingRedis.failed);
onAllReady([redis, wakeRedis], reachingRedis.passed);
const waker = createWaker(wakeRedis);
shutdown.register('waker', () => waker.close());

const knownDatabase = createKnownDatabase(database);
await Promise.all([untilReady(redis), untilReady(wakeRedis), untilReachable(() => knownDatabase.ask())]);
for (const connection of [redis, wakeRedis]) defineScripts(connection);

const presence = await untilTakesWrites(() => createWorkerPresence(redis, () => knownDatabase.identity()));
const housekeeping = startHousekeeping({ redis, presence, logger });
shutdown.register('housekeeping', () => housekeeping.stop());

// The worker goes on without the schema: what is queued waits for it, and the API refuses writes until it is there.
// Asked before all others, so that its answer is the first to be logged.
assertMigrated(database).catch((error: unknown) => logger.warn({ err: error }, 'The database cannot be used yet.'));

const metrics = createWorkerMetrics();
const ledgerWatch = startLedgerWatch({
  database,
  logger,
  metrics,
  rowsPerMinute: settings.LEDGER_CHECK_ROWS_PER_MINUTE,
});
const admin = await openAdmin(settings.ADMIN_PORT);

const pruning = startPruning({ database, logger });
const identityRounds = periodically(
  askEveryMs,
  () => knownDatabase.ask(),
  logRecurring(logger, 'Postgres does not say which database it is.', reasonWithoutStatement),
);
const mirror = startMirror(settings.PLATFORM_SYNC_EVERY_MINUTES * 60_000);

const deps = {
  redis,
  presence,
  database,
  logger,
  faults: createCycleFaults(logger),
  keyMemoryMs: settings.KEY_MEMORY_MS,
  metrics,
  ledgerWatch,
  warnOfLeftOut: createLeftOutWarning(logger),
};
const lanes = Array.from({ length: WORKER_LANES }, () => startLane(deps, waker));
shutdown.register('lanes, mirror, ledger watch and pruning', async () => {
  for (const lane of lanes) lane.stop();
  // All at once: while Postgres is silent, each waits as long as its statement may take. The waker as well, because
  // what Redis took for this worker after it has left would wait for the end of its lease.
  await Promise.all([
    waker.close(),
    mirror?.stop(),
    ledgerWatch.stop(),
    pruning.stop(),
    identityRounds.stop(),
    ...lanes.map(({ done }) => done),
  ]);
});

shutdown.started();
logger.info({ lanes: WORKER_LANES, ...admin }, 'working');
tellParent({ type: 'ready', ...admin });

async function openAdmin(port: number | undefined): Promise<{ adminPort?: number }> {
  if (port === undefined) return {};
  const { registry } = metrics;
  watchProcess(registry);
  watchPool(registry, () => poolUse(database));
  watchRedis(registry, () => ({ worker: redis.status === 'ready', wake: wakeRedis.status === 'ready' }));
  const server = await startAdminServer({ host: settings.ADMIN_HOST, port, registry });
  shutdown.register('the admin port', () => server.close());
  return { adminPort: server.port };
}

function startMirror(everyMs: number): Rounds | undefined {
  if (everyMs === 0) return undefined;
  const { PLATFORM_TOKEN_KEY: key, PLATFORM_ALLOW_LOOPBACK: allowLoopback } = settings;
  // Not the lanes' pool: a page's transaction may take longer than a cycle, and a lane would wait for it.
  const mirrorDatabase = connectDatabase({
    url: DATABASE_URL,
    poolMax: mirrorPoolMax,
    applicationName: 'raw-materials-mirror',
    answerMsMax: mirrorSilenceMsMax,
  });
  pools.push(mirrorDatabase);
  const watch = startMirrorWatch({ database: mirrorDatabase, everyMs, logger, metrics });
  if (key === undefined) {
    logger.info('PLATFORM_TOKEN_KEY is not set: no commerce platform is mirrored by this worker.');
    return watch;
  }
  const platform = createShopifyPlatform({
    allowLoopback,
    report: logPlatformEvents(logger),
  });
  const rounds = startMirrorRounds({
    database: mirrorDatabase,
    platform,
    tokenCipher: createTokenCipher(key),
    everyMs,
    logger,
  });
  return {
    async stop() {
      await Promise.all([rounds.stop(), watch.stop()]);
    },
  };
}

import type { Redis } from 'ioredis';
import { reasonOf, reasonWithoutStatement } from '../../shared/database/errors.js';
import { runScript } from '../../shared/queue/run-script.js';
import { ServesAnotherDatabase } from '../../shared/queue/worker-presence.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { logRecurring } from '../../shared/runtime/recurring-fault.js';
import type { DispatchState } from './dispatch-metrics.js';
import { keepAsking } from './keep-asking.js';
import { startRunningClock } from './running-clock.js';

/**
 * What the API knows of the pipeline behind it: each part is asked twice a second, and more often while it is away or
 * did not answer, so that a refusal costs a request nothing.
 */
export interface Health {
  /** Why nothing of this shop can be queued now, or undefined. */
  refusal(shopId: number): string | undefined;
  /** Which database we write to (`readDatabaseIdentity`), as far as it is known. */
  database(): string | undefined;
  /** Milliseconds of Redis' clock. */
  redisNowMs(): number;
  parts(): { postgres: boolean; redis: boolean; worker: boolean };
  pipeline(): DispatchState['pipeline'];
  stop(): void;
}

/** While a part is away every write is refused, so its return is looked for more often. */
const askEvery = { wellMs: 500, unwellMs: 100 };
/**
 * An answer older than this counts for nothing: a part, or the last worker, may fail for a moment, or take a moment to
 * answer, before it counts as away. By the running clock: nobody goes away while this process stands still.
 */
const answerLastsMs = 1_500;
/** A shop's oldest ready material may wait this long before its new work is refused (pipeline §2 "Limits"). */
const backlogAgeMsMax = 3_000;

/** What Redis says of the queue. */
interface QueueStatus {
  nowMs: number;
  liveWorkers: number;
  oldestReadyMs: number;
  readyMaterials: number;
  lateShops: Set<number>;
  /** Whether those workers write to another database than ours. */
  isOfAnother: boolean;
}

type StatusAnswer = [
  nowMs: number,
  workers: number,
  oldestReadyMs: number,
  readyMaterials: number,
  otherDatabase: string,
  ...lateShops: string[],
];

/** @param askPostgres `createWriteQuestion` */
export async function startHealth(
  redis: Redis,
  askPostgres: () => Promise<string | undefined>,
  logger: Logger,
): Promise<Health> {
  const clock = startRunningClock();
  let redisAnsweredMs = -Infinity;
  let workerSeenMs = -Infinity;
  let postgresAnsweredMs = -Infinity;
  let database: string | undefined;
  /** Added to the monotonic clock: one that can be set would misdate what is accepted until the next question. */
  let redisOffsetMs = 0;
  let status: QueueStatus | undefined;

  const redisQuestion = keepAsking(
    async () => {
      const sentMs = performance.now();
      status = await readStatus(redis, database);
      const { nowMs, liveWorkers, isOfAnother } = status;
      // Redis read its clock between the question and now, which may be hours apart where this process was stopped: the
      // offset lies between these two bounds, and within them the earlier estimate is kept.
      redisOffsetMs = Math.min(Math.max(redisOffsetMs, nowMs - performance.now()), nowMs - sentMs);
      redisAnsweredMs = clock.nowMs();
      if (isOfAnother) {
        workerSeenMs = -Infinity;
        throw new ServesAnotherDatabase();
      }
      if (liveWorkers > 0) workerSeenMs = redisAnsweredMs;
      return liveWorkers > 0;
    },
    askEvery,
    logRecurring(logger, 'Redis does not serve the queue.', reasonOf),
  );
  // What was heard before the connection broke says nothing of the Redis behind the next one, nor of its workers.
  const forget = () => (redisAnsweredMs = workerSeenMs = -Infinity);
  const askAfresh = () => void redisQuestion.now();
  redis.on('close', forget).on('ready', askAfresh);

  const postgresQuestion = keepAsking(
    async () => {
      database = await askPostgres();
      postgresAnsweredMs = clock.nowMs();
      return true;
    },
    askEvery,
    logRecurring(logger, 'Postgres takes no writes of ours.', reasonWithoutStatement),
  );
  // In this order: workers are of another database than ours only once ours is known.
  await postgresQuestion.now();
  await redisQuestion.now();

  const isRecent = (answeredMs: number) => clock.nowMs() - answeredMs < answerLastsMs;
  const parts = () => ({
    postgres: isRecent(postgresAnsweredMs),
    redis: redis.status === 'ready' && isRecent(redisAnsweredMs),
    worker: isRecent(workerSeenMs),
  });

  return {
    parts,
    refusal(shopId) {
      const { postgres, redis: redisAnswers, worker } = parts();
      if (!redisAnswers) return 'The queue is not reachable, or takes no writes.';
      if (!postgres) return 'The database is not reachable, or takes no writes.';
      if (!worker) return 'No worker of this database is running.';
      if (status?.lateShops.has(shopId) === true) return "The shop's backlog is too deep.";
      return undefined;
    },
    database: () => database,
    pipeline: () => (parts().redis ? status : undefined),
    redisNowMs: () => Math.round(performance.now() + redisOffsetMs),
    stop() {
      redisQuestion.stop();
      postgresQuestion.stop();
      clock.stop();
      redis.off('close', forget).off('ready', askAfresh);
    },
  };
}

async function readStatus(redis: Redis, database = ''): Promise<QueueStatus> {
  const answer = (await runScript(redis, 'rmStatus', backlogAgeMsMax, database)) as StatusAnswer;
  const [nowMs, liveWorkers, oldestReadyMs, readyMaterials, other, ...late] = answer;
  const lateShops = new Set(late.map(Number));
  return { nowMs, liveWorkers, oldestReadyMs, readyMaterials, lateShops, isOfAnother: other !== '' };
}

import { keys } from '../queue/names.js';
import { refusalLastsMs } from '../queue/refusal.js';
import { beatAheadMsMax } from '../queue/presence-scripts.js';
import type { OwnIdentity } from './cluster-identity.js';
import { bad, good, note } from './finding.js';
import type { Finding } from './finding.js';
import { askRedis, checkRedis } from './redis-check.js';

/** The Redis of REDIS_URL: version, eviction, and whether a restart keeps the queue. */
export async function checkGivenRedis(url: string): Promise<Finding> {
  const given = await checkRedis(url);
  if (!given.ok) return bad(given.problem);
  const { hostname, port } = new URL(url);
  const where = `${given.value.version}, noeviction, on ${hostname}:${port || '6379'} (REDIS_URL)`;
  if (given.value.appendOnly) return good(`${where}, append-only file`);
  return note(
    `${where}; it has no append-only file, so its queue is empty after a restart: nothing that was answered is lost.\n` +
      'Run: redis-cli CONFIG SET appendonly yes   (and write it into its configuration file)',
  );
}

/**
 * Whether any worker beats: without one, or with those of another database, the API refuses every write. `npm start`
 * brings its own, so beside it what keeps those of our database from working is only noted.
 *
 * @param own which database ours is; its value is undefined where that is not to be compared
 */
export async function checkWorkers(
  url: string,
  { own, isForStart }: { own: () => OwnIdentity; isForStart: boolean },
): Promise<Finding> {
  const live = await askRedis(url, async (redis) => {
    const [seconds] = await redis.time();
    const nowMs = Number(seconds) * 1_000;
    const alive = [`(${nowMs}`, nowMs + beatAheadMsMax] as const;
    const workers = await redis.zrangebyscore(keys.workers, ...alive);
    return {
      workers: workers.length,
      cutOff: workers.length > 0 ? await redis.exists(workers.map((worker) => `${keys.cutOff}:${worker}`)) : 0,
      databases: await redis.zrangebyscore(keys.databases, ...alive),
      refusal: (await redis.pttl(keys.refusal)) <= refusalLastsMs ? await redis.get(keys.refusal) : null,
    };
  });
  if (!live.ok) return bad('unknown: Redis cannot be asked');
  const { workers, cutOff, databases, refusal } = live.value;
  const ours = await own();
  if (!ours.ok && databases.length > 0) {
    return bad(
      `${workers} alive, and whether they write to the database of npm start cannot be told: ${ours.problem}.\n` +
        'npm start refuses unless it is theirs.',
    );
  }
  if (ours.ok && ours.value !== undefined && databases.some((other) => other !== ours.value)) {
    return bad(
      `${workers} alive, writing to another database, so the API refuses every write.\n` +
        'Give each installation a Redis of its own, or another number of its databases (REDIS_URL).',
    );
  }
  if (workers === 0) {
    if (isForStart) return good('none is alive; npm start brings its own');
    return bad('none is alive, so the API refuses every write. Run: npm run worker');
  }
  if (refusal !== null) {
    const text = `${workers} alive, and Postgres refuses what they write: ${refusal}. See its log.`;
    return isForStart ? note(text) : bad(text);
  }
  if (cutOff === workers && !isForStart) {
    return bad(`${workers} alive, and none can use Postgres, so the API refuses every write. See their logs.`);
  }
  if (cutOff > 0) return note(`${workers} alive, of which ${cutOff} cannot use Postgres: see their logs`);
  return good(`${workers} alive`);
}

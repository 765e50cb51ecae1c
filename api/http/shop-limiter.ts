import type { Redis } from 'ioredis';
import { ReplyError } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { inOneWrite } from '../../shared/redis/in-one-write.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { logRecurring } from '../../shared/runtime/recurring-fault.js';
import type { RecurringFault } from '../../shared/runtime/recurring-fault.js';
import type { ApiMetrics } from '../admin/api-metrics.js';

/** One budget a shop, shared by every process and surface through Redis (contract §6). */
export interface ShopLimiter {
  /** Takes one point. Never rejects: without Redis, or whatever else happens to it, requests go on. */
  take(shop: { id: number; rateLimitPoints: number | null }): Promise<Taken>;
}

export interface Taken {
  admitted: boolean;
  remaining: number;
  /** Until the window ends, rounded up. */
  resetSeconds: number;
  /** The `RateLimit-Policy` header of this limit. */
  policy: string;
}

export interface ShopLimiterDeps {
  /** A connection of its own, with `enableOfflineQueue: false`, or the insurance would never be asked (pipeline §5). */
  redis: Redis;
  points: number;
  windowSeconds: number;
  /** API processes, among which the budget is split while Redis is away. */
  instances: number;
  logger: Logger;
  metrics: Pick<ApiMetrics, 'limiterDecided' | 'limiterInsured'>;
}

interface Counting extends ShopLimiterDeps {
  /**
   * Until when this process itself refuses a shop under a limit, so that a flood costs Redis nothing. By the monotonic
   * clock: the library's own block goes by the wall clock, and if that is set back, it lasts that much longer than the
   * window. One for all limits: each takes 250 KB.
   */
  usedUp: LRUCache<string, WindowEnd>;
  /** Told whether Redis counts or refuses to. That Redis is away is reported by its connection. */
  attempts: RecurringFault;
}

/** What became of the points that the requests of one group asked for together. */
interface Counted {
  /** How many of the requests are admitted: the first ones. */
  admitted: number;
  /** Points left after all of them. */
  remaining: number;
  msBeforeNext: number;
}

interface Limit {
  points: number;
  policy: string;
  /** `shared` counts in Redis, `insurance` by this process's share while Redis is away. */
  shared: RateLimiterRedis;
  insurance: RateLimiterMemory;
}

/**
 * When a used-up window ends. Redis said how much of it is left at some moment between our question and our reading of
 * the answer, which may be long after. Counted from the reading alone, requests were refused that the next window had
 * room for.
 */
interface WindowEnd {
  /** Counted from the question: from then on Redis is asked again. */
  earliestMs: number;
  /** Counted from the answer: what clients are told. */
  latestMs: number;
}

/** The requests of a shop that came in one turn of the event loop, in their order. */
interface Group {
  shopId: number;
  limit: Limit;
  waiting: ((taken: Taken) => void)[];
}

/** The key is this and the shop's id. */
const keyPrefix = 'raw-materials:limit';

/** Limiters that are kept, one for each distinct limit. Shops with a limit of their own usually share a few numbers. */
const limitsMax = 1_000;
/** Shops that are remembered as having used up their window. For one that is forgotten Redis is asked. */
const usedUpMax = 10_000;

/**
 * The requests of a shop that arrive in one turn of the event loop take their points in one command, and the first of
 * them are admitted as far as the budget goes. A shop that has used its window up costs no command at all.
 */
export function createShopLimiter(deps: ShopLimiterDeps): ShopLimiter {
  const limits = new LRUCache<number, Limit>({ max: limitsMax, memoMethod: (points) => createLimit(deps, points) });
  const counting: Counting = {
    ...deps,
    usedUp: new LRUCache({ max: usedUpMax }),
    attempts: logRecurring(deps.logger, 'Redis refuses to count the rate limit.', String),
  };
  let due = new Map<string, Group>();

  function countDue(): void {
    const groups = due;
    due = new Map();
    inOneWrite(deps.redis, () => {
      for (const group of groups.values()) void answer(counting, group);
    });
  }

  return {
    take({ id, rateLimitPoints }) {
      const limit = limits.memo(rateLimitPoints ?? deps.points);
      const name = nameOf(id, limit);
      return new Promise((resolve) => {
        if (due.size === 0) setImmediate(countDue);
        const group = due.get(name) ?? { shopId: id, limit, waiting: [] };
        due.set(name, group);
        group.waiting.push(resolve);
      });
    },
  };
}

/** Of a shop under a limit: the shop's own may change. */
const nameOf = (shopId: number, { points }: Limit) => `${shopId}/${points}`;

async function answer(deps: Counting, { shopId, limit, waiting }: Group): Promise<void> {
  const counted = await count(deps, limit, shopId, waiting.length);
  // Neither Redis nor the insurance could count: letting requests through is better than making them errors.
  const { admitted, remaining, msBeforeNext } = counted ?? {
    admitted: waiting.length,
    remaining: limit.points,
    msBeforeNext: deps.windowSeconds * 1_000,
  };
  const resetSeconds = Math.max(0, Math.ceil(msBeforeNext / 1_000));
  waiting.forEach((resolve, index) => {
    const isAdmitted = index < admitted;
    deps.metrics.limiterDecided(counted === undefined ? 'uncounted' : isAdmitted ? 'allowed' : 'limited');
    const later = isAdmitted ? admitted - 1 - index : 0;
    resolve({ admitted: isAdmitted, remaining: remaining + later, resetSeconds, policy: limit.policy });
  });
}

/** @returns undefined where nothing could count */
async function count(deps: Counting, limit: Limit, shopId: number, asked: number): Promise<Counted | undefined> {
  const askedAtMs = performance.now();
  const { earliestMs, latestMs } = deps.usedUp.get(nameOf(shopId, limit)) ?? { earliestMs: 0, latestMs: 0 };
  if (earliestMs > askedAtMs) return { admitted: 0, remaining: 0, msBeforeNext: latestMs - askedAtMs };
  try {
    const counted = await capWindow(deps, limit, shopId, await consume(limit.shared, shopId, asked));
    if (counted.admitted < asked) {
      const { msBeforeNext: leftMs } = counted;
      deps.usedUp.set(nameOf(shopId, limit), { earliestMs: askedAtMs + leftMs, latestMs: performance.now() + leftMs });
    }
    deps.attempts.passed();
    return counted;
  } catch (error) {
    if (error instanceof ReplyError) deps.attempts.failed(error);
    deps.metrics.limiterInsured(asked);
  }
  try {
    const counted = await consume(limit.insurance, shopId, asked);
    // It tells the end of a window by the wall clock, which may have been set back since the window began.
    return { ...counted, msBeforeNext: Math.min(counted.msBeforeNext, deps.windowSeconds * 1_000) };
  } catch (error) {
    deps.logger.warn({ err: error, shopId }, 'The rate limit could not be counted.');
    return undefined;
  }
}

/**
 * Makes sure that a window ends within its length. Redis ends it by its own clock: if that is set back, if a replica
 * with another clock takes over, or if the setting was longer before, a window under way would last longer, and with it
 * the refusals.
 *
 * @throws where Redis does not answer
 */
async function capWindow(
  { redis, windowSeconds }: ShopLimiterDeps,
  { shared }: Limit,
  shopId: number,
  counted: Counted,
): Promise<Counted> {
  const windowMs = windowSeconds * 1_000;
  if (counted.msBeforeNext <= windowMs) return counted;
  await redis.pexpire(shared.getKey(shopId), windowMs);
  return { ...counted, msBeforeNext: windowMs };
}

/** @throws where the store does not answer */
async function consume(limiter: RateLimiterRedis | RateLimiterMemory, shopId: number, asked: number): Promise<Counted> {
  try {
    const { remainingPoints, msBeforeNext } = await limiter.consume(String(shopId), asked);
    return { admitted: asked, remaining: remainingPoints, msBeforeNext };
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    const { consumedPoints, msBeforeNext } = refusal;
    // Fewer than were asked for, or it would be no refusal.
    const admitted = Math.max(0, limiter.points - (consumedPoints - asked));
    return { admitted, remaining: 0, msBeforeNext };
  }
}

/** Whatever its limit, a shop's requests are counted under one key, so a new limit applies to the window under way. */
function createLimit({ redis, windowSeconds, instances }: ShopLimiterDeps, points: number): Limit {
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix,
    points,
    duration: windowSeconds,
    rejectIfRedisNotReady: true,
  });
  const insurance = new RateLimiterMemory({ points: Math.ceil(points / instances), duration: windowSeconds });
  return { points, shared, insurance, policy: `"shop";q=${points};w=${windowSeconds}` };
}

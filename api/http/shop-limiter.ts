import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { inOneWrite } from '../../shared/redis/in-one-write.js';
import type { Logger } from '../../shared/runtime/logger.js';

/** One budget a shop, shared by every process and surface through Redis (contract §6). */
export interface ShopLimiter {
  /** Takes one point. Rejects never: without Redis, and whatever else happens to it, requests go on. */
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
  /** A connection of its own: `enableOfflineQueue: false`, or the insurance would never be asked (pipeline §5). */
  redis: Redis;
  points: number;
  windowSeconds: number;
  /** API processes, among which the budget is split while Redis is away. */
  instances: number;
  logger: Logger;
  metrics: {
    limiterDecided: (decision: 'allowed' | 'limited' | 'uncounted') => void;
    /** The insurance was asked, since Redis could not count. */
    limiterInsured: () => void;
  };
}

/** What the requests of a shop in one turn are told of the budget they took from together. */
interface Counted {
  /** So many of them are admitted, the first ones. */
  admitted: number;
  /** What is left after all of them. */
  remaining: number;
  msBeforeNext: number;
}

interface Limit {
  points: number;
  policy: string;
  /** In Redis, and by this process's share while Redis is away. */
  shared: RateLimiterRedis;
  insurance: RateLimiterMemory;
}

/** The requests of a shop that came in one turn of the event loop, in their order. */
interface Group {
  shopId: number;
  limit: Limit;
  waiting: ((taken: Taken) => void)[];
}

/** Distinct limits for which a limiter is kept; shops with a limit of their own usually share a few round numbers. */
const limitsMax = 1_000;

/**
 * The requests of a shop that arrive in one turn of the event loop take their points in one command, and the first of
 * them are admitted as far as the budget goes. A shop that has used its window up costs no command at all.
 */
export function createShopLimiter(deps: ShopLimiterDeps): ShopLimiter {
  const limits = new LRUCache<number, Limit>({ max: limitsMax, memoMethod: (points) => createLimit(deps, points) });
  let due = new Map<string, Group>();

  function countDue(): void {
    const groups = due;
    due = new Map();
    inOneWrite(deps.redis, () => {
      for (const group of groups.values()) void answer(deps, group);
    });
  }

  return {
    take({ id, rateLimitPoints }) {
      const limit = limits.memo(rateLimitPoints ?? deps.points);
      const name = `${id}/${limit.points}`;
      return new Promise((resolve) => {
        if (due.size === 0) setImmediate(countDue);
        const group = due.get(name) ?? { shopId: id, limit, waiting: [] };
        due.set(name, group);
        group.waiting.push(resolve);
      });
    },
  };
}

async function answer(deps: ShopLimiterDeps, { shopId, limit, waiting }: Group): Promise<void> {
  const counted = await count(deps, limit, shopId, waiting.length);
  // Neither Redis nor the insurance could count: requests are let through rather than made errors.
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
async function count(deps: ShopLimiterDeps, limit: Limit, shopId: number, asked: number): Promise<Counted | undefined> {
  try {
    return await consume(limit.shared, shopId, asked);
  } catch {
    deps.metrics.limiterInsured();
  }
  try {
    return await consume(limit.insurance, shopId, asked);
  } catch (error) {
    deps.logger.warn({ err: error, shopId }, 'the rate limit could not be counted');
    return undefined;
  }
}

/** @throws where the store does not answer */
async function consume(limiter: RateLimiterRedis | RateLimiterMemory, shopId: number, asked: number): Promise<Counted> {
  try {
    const { remainingPoints, msBeforeNext } = await limiter.consume(String(shopId), asked);
    return { admitted: asked, remaining: remainingPoints, msBeforeNext };
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    const { consumedPoints, msBeforeNext } = refusal;
    // A shop that is blocked in this process's memory was not counted at all.
    const before = consumedPoints === 0 ? limiter.points : consumedPoints - asked;
    return { admitted: Math.min(asked, Math.max(0, limiter.points - before)), remaining: 0, msBeforeNext };
  }
}

/** All limits count under the same key of a shop, so that a changed limit applies to the window under way. */
function createLimit({ redis, windowSeconds, instances }: ShopLimiterDeps, points: number): Limit {
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'limit',
    points,
    duration: windowSeconds,
    rejectIfRedisNotReady: true,
    // Once it is used up, this process refuses by itself until the window ends: a flood costs Redis nothing.
    inMemoryBlockOnConsumed: points + 1,
  });
  const insurance = new RateLimiterMemory({ points: Math.ceil(points / instances), duration: windowSeconds });
  return { points, shared, insurance, policy: `"shop";q=${points};w=${windowSeconds}` };
}

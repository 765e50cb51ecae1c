import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
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
}

interface LimitedBy {
  points: number;
  policy: string;
  limiter: RateLimiterRedis;
}

/** Distinct limits for which a limiter is kept; shops with a limit of their own usually share a few round numbers. */
const limitsMax = 1_000;

export function createShopLimiter(deps: ShopLimiterDeps): ShopLimiter {
  const limiters = new LRUCache<number, LimitedBy>({ max: limitsMax });
  return {
    async take({ id, rateLimitPoints }) {
      const points = rateLimitPoints ?? deps.points;
      let limitedBy = limiters.get(points);
      if (limitedBy === undefined) limiters.set(points, (limitedBy = limitBy(deps, points)));
      try {
        return taken(limitedBy, true, await limitedBy.limiter.consume(String(id)));
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return taken(limitedBy, false, refusal);
        // Neither Redis nor the insurance could count: the request is let through rather than made an error.
        deps.logger.warn({ err: refusal, shopId: id }, 'the rate limit could not be counted');
        return { admitted: true, remaining: points, resetSeconds: deps.windowSeconds, policy: limitedBy.policy };
      }
    },
  };
}

/** All limits count under the same key of a shop, so that a changed limit applies to the window under way. */
function limitBy({ redis, windowSeconds, instances }: ShopLimiterDeps, points: number): LimitedBy {
  const insuranceLimiter = new RateLimiterMemory({ points: Math.ceil(points / instances), duration: windowSeconds });
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'limit',
    points,
    duration: windowSeconds,
    rejectIfRedisNotReady: true,
    insuranceLimiter,
  });
  return { points, limiter, policy: `"shop";q=${points};w=${windowSeconds}` };
}

function taken({ policy }: LimitedBy, admitted: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Taken {
  return { admitted, remaining: remainingPoints, resetSeconds: Math.max(0, Math.ceil(msBeforeNext / 1_000)), policy };
}

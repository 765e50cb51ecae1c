import { fail } from '../../shared/domain/errors.js';
import { callerOf } from './request-state.js';
import type { AppMiddleware } from './request-state.js';
import type { ShopLimiter } from './shop-limiter.js';

/**
 * Takes the request's point and tells what is left on every authenticated answer, errors included (contract §6;
 * draft-ietf-httpapi-ratelimit-headers).
 */
export function rateLimit(limiter: ShopLimiter): AppMiddleware {
  return async (ctx, next) => {
    const { admitted, remaining, resetSeconds, policy } = await limiter.take(callerOf(ctx).shop);
    ctx.state.headers['RateLimit-Policy'] = policy;
    ctx.state.headers['RateLimit'] = `"shop";r=${remaining};t=${resetSeconds}`;
    if (admitted) {
      await next();
      return;
    }
    const message = 'The shop has used up its requests for now. REST and the agent surface share one budget.';
    // 0 where the window ends at this very moment.
    ctx.state.reply = { result: fail('RATE_LIMITED', message, { retryAfterSeconds: Math.max(1, resetSeconds) }) };
  };
}

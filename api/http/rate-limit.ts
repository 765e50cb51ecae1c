import { fail } from '../../shared/domain/errors.js';
import { callerOf } from './request-state.js';
import type { AppMiddleware } from './request-state.js';
import type { ShopLimiter } from './shop-limiter.js';

/**
 * Takes a point of the shop's budget, and says on every authenticated answer, errors included, what is left of it
 * (contract §6; draft-ietf-httpapi-ratelimit-headers).
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
    // `resetSeconds` is 0 if the window ends at this moment.
    ctx.state.reply = { result: fail('RATE_LIMITED', message, { retryAfterSeconds: Math.max(1, resetSeconds) }) };
  };
}

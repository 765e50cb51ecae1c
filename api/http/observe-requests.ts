import { statusByCode } from '../../shared/domain/errors.js';
import type { Logger } from '../../shared/runtime/logger.js';
import type { ApiMetrics } from '../admin/api-metrics.js';
import { newRequestId } from './request-id.js';
import { keepState, newState } from './request-state.js';
import type { AppContext, AppMiddleware } from './request-state.js';

/** The usual status in logs for a client that was gone before its answer. */
const clientGone = 499;

/**
 * The outermost layer: gives the request its state with its id, and counts and logs it when it is answered. It is
 * logged only at `debug`: at thousands a second, a line would cost more than the request's own work. Server errors are
 * logged as warnings, but not all of them in an overload: refusing must stay cheaper than serving.
 *
 * @param onAnswered not told of requests that the server refuses before the app (`connections/server.ts`)
 */
export function observeRequests(logger: Logger, onAnswered: ApiMetrics['answered']): AppMiddleware {
  const mayWarn = createAllowance();
  return async (ctx, next) => {
    const startedAtMs = performance.now();
    ctx.state = newState(newRequestId());
    keepState(ctx.res, ctx.state);
    await next();
    const status = ctx.res.headersSent ? ctx.res.statusCode : clientGone;
    onAnswered({
      method: ctx.method,
      route: ctx.state.route,
      status,
      seconds: (performance.now() - startedAtMs) / 1_000,
    });
    if (isServerError(ctx) && mayWarn())
      logger.warn(logFields(ctx, status, startedAtMs), 'answered with a server error');
    else if (logger.isLevelEnabled('debug')) logger.debug(logFields(ctx, status, startedAtMs), 'answered');
  };
}

/** By the status that was sent or, if the client had gone before that, by the reply. */
function isServerError({ res, state: { reply } }: AppContext): boolean {
  if (res.headersSent) return res.statusCode >= 500;
  return reply?.result.ok === false && statusByCode[reply.result.error.code] >= 500;
}

const warningsMaxPerSecond = 50;

/** Says yes at most `warningsMaxPerSecond` times a second. */
function createAllowance(): () => boolean {
  let secondBeganAtMs = -Infinity;
  let given = 0;
  return () => {
    const now = performance.now();
    if (now - secondBeganAtMs >= 1_000) {
      secondBeganAtMs = now;
      given = 0;
    }
    given += 1;
    return given <= warningsMaxPerSecond;
  };
}

/** The key's id, never the key; the path without its query, which may hold what a person searched for. */
function logFields(ctx: AppContext, status: number, startedAtMs: number): object {
  const { requestId, caller, route, reply } = ctx.state;
  return {
    requestId,
    keyId: caller?.keyId,
    shopId: caller?.shop.id,
    method: ctx.method,
    route,
    status,
    code: reply?.result.ok === false ? reply.result.error.code : undefined,
    ms: Math.round((performance.now() - startedAtMs) * 10) / 10,
  };
}

import { statusByCode } from '../../shared/domain/errors.js';
import type { RequestError } from '../../shared/domain/errors.js';
import { materialIdKind } from '../../shared/domain/material-id.js';
import type { Logger } from '../../shared/runtime/logger.js';
import type { ApiMetrics } from '../admin/api-metrics.js';
import { newRequestId } from './request-id.js';
import { keepState, newState } from './request-state.js';
import type { AppContext, AppMiddleware, RequestState } from './request-state.js';

export const serverErrorLine = 'answered with a server error';

/** The usual status in logs for a client that was gone before its answer. */
const clientGone = 499;

/**
 * The outermost layer: gives the request its state with its id, and counts and logs it when it is answered. It is
 * logged only at `debug`: at thousands a second, a line would cost more than the request's own work. Server errors are
 * logged as warnings.
 *
 * @param onAnswered not told of requests that the server refuses before the app (`connections/server.ts`)
 * @param mayWarn `createWarningAllowance`
 */
export function observeRequests(
  logger: Logger,
  onAnswered: ApiMetrics['answered'],
  mayWarn: () => boolean,
): AppMiddleware {
  return async (ctx, next) => {
    const startedAtMs = performance.now();
    ctx.state = newState(newRequestId());
    keepState(ctx.res, ctx.state);
    await next();
    const status = ctx.res.headersSent ? ctx.res.statusCode : clientGone;
    const { route, toolRefusal } = ctx.state;
    onAnswered({
      method: ctx.method,
      route,
      status,
      toolStatus: toolRefusal && statusByCode[toolRefusal.error.code],
      seconds: (performance.now() - startedAtMs) / 1_000,
    });
    if (isServerError(ctx) && mayWarn())
      logger.warn({ ...logFields(ctx, status, startedAtMs), ...causeFields(ctx) }, serverErrorLine);
    else if (logger.isLevelEnabled('debug')) logger.debug(logFields(ctx, status, startedAtMs), 'answered');
  };
}

/** By the status that was sent or, of a tool or if the client had gone before that, by the refusal. */
function isServerError({ res, state }: AppContext): boolean {
  if (res.headersSent && state.toolRefusal === undefined) return res.statusCode >= 500;
  const error = refusalOf(state);
  return error !== undefined && statusByCode[error.code] >= 500;
}

function refusalOf({ reply, toolRefusal }: RequestState): RequestError | undefined {
  return reply?.result.ok === false ? reply.result.error : toolRefusal?.error;
}

/** The key's id, never the key; the path without its query, which may hold what a person searched for. */
function logFields(ctx: AppContext, status: number, startedAtMs: number): object {
  const { requestId, caller, route, toolRefusal } = ctx.state;
  return {
    requestId,
    keyId: caller?.keyId,
    shopId: caller?.shop.id,
    method: ctx.method,
    route,
    tool: toolRefusal?.tool,
    status,
    code: refusalOf(ctx.state)?.code,
    ms: Math.round((performance.now() - startedAtMs) * 10) / 10,
  };
}

/**
 * Why it was a server error, in words of ours and never in a client's; the message of a 504 is left out, which holds a
 * path. The material is named only by what has the form of an id: a path may hold anything, even a key by mistake.
 */
function causeFields({ state, params }: AppContext): object {
  const error = refusalOf(state);
  const { variantId = '' } = (params ?? {}) as { variantId?: string };
  return {
    reason: error?.code === 'OUTCOME_UNKNOWN' ? undefined : error?.message,
    materialId: ['platform', 'virtual'].includes(materialIdKind(variantId)) ? variantId : undefined,
  };
}

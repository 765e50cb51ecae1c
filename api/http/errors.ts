import { isInfrastructureError } from '../../shared/database/errors.js';
import type { Refusal } from '../../shared/domain/errors.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { answerLost, internalError, LostAnswer, storageAway } from '../fault-answers.js';
import type { AppMiddleware } from './request-state.js';

/** The last resort: what is thrown, and not answered by whoever knows more, becomes a reply here. */
export function errors(logger: Logger): AppMiddleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const { requestId, route } = ctx.state;
      ctx.state.reply = { result: answerFault(logger, error, { requestId, route }) };
    }
  };
}

/**
 * Logs a fault and returns its answer. Expected failures are values and never come here. Postgres being away is a 503:
 * a write is dispatched last and its dispatch never throws, so it is certain that nothing was applied. A fault of ours
 * is a 500, or a 504 if it lost an answer; it is logged whole, and the client learns only the request's id.
 */
export function answerFault(
  logger: Logger,
  error: unknown,
  about: { requestId: string; route: string | undefined },
): Refusal {
  const away = isInfrastructureError(error);
  logger[away ? 'warn' : 'error']({ err: error, ...about }, away ? 'Postgres is away' : 'a fault in a request');
  if (away) return storageAway;
  return error instanceof LostAnswer ? answerLost : internalError;
}

import { isInfrastructureError, isOverstay } from '../../shared/database/errors.js';
import { isMissingSchema } from '../../shared/database/schema-state.js';
import type { Refusal } from '../../shared/domain/errors.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { answerLost, internalError, LostAnswer, readOverstayed, storageAway } from '../fault-answers.js';
import type { AppMiddleware } from './request-state.js';

export interface FaultDeps {
  logger: Logger;
  /** Whether Postgres takes writes, and has this version's schema. */
  isStorageReady: () => boolean;
}

/** The last resort: what is thrown, and not answered by whoever knows more, becomes a reply here. */
export function errors(deps: FaultDeps): AppMiddleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const { requestId, route } = ctx.state;
      ctx.state.reply = { result: answerFault(deps, error, { requestId, route }) };
    }
  };
}

/**
 * Logs a fault and returns its answer. Expected failures are values and never come here. Postgres being away, or
 * without the schema, or too slow for a read, is a 503: a write is dispatched last and its dispatch never throws, so it
 * is certain that nothing was applied. A fault of ours is a 500, or a 504 if it lost an answer; it is logged whole, and
 * the client learns only the request's id.
 */
export function answerFault(
  { logger, isStorageReady }: FaultDeps,
  error: unknown,
  about: { requestId: string; route: string | undefined },
): Refusal {
  // One slow statement does not make Postgres away: it may answer all others, and `/readyz` say so.
  if (isOverstay(error)) {
    logger.warn({ err: error, ...about }, 'Postgres did not answer a read in time.');
    return readOverstayed;
  }
  // A table that is missing is our fault, but not where nobody has migrated yet.
  const away = isInfrastructureError(error) || (isMissingSchema(error) && !isStorageReady());
  logger[away ? 'warn' : 'error']({ err: error, ...about }, away ? 'Postgres is away.' : 'A request met a fault.');
  if (away) return storageAway;
  return error instanceof LostAnswer ? answerLost : internalError;
}

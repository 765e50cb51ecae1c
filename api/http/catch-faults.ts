import { isDriverTimeout, isRefusalOfRole, isServerTimeout, isTransient } from '../../shared/database/errors.js';
import { isMissingSchema } from '../../shared/database/schema-state.js';
import type { Refusal } from '../../shared/domain/errors.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { answerLost, internalError, LostAnswer, readTimedOut, storageAway } from '../fault-answers.js';
import type { AppMiddleware } from './request-state.js';

export interface FaultDeps {
  logger: Logger;
  /** Whether Postgres takes writes, and has this version's schema. */
  isStorageReady: () => boolean;
}

/** The last resort: whatever the inner layers throw becomes a reply. */
export function catchFaults(deps: FaultDeps): AppMiddleware {
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
 * Logs a fault and returns its answer. Expected failures are values and never come here. If Postgres is away, has no
 * schema, or is too slow for a read, that is a 503. Nothing was applied then: a request dispatches its write last, and
 * `submit` never throws. A fault of ours is a 500, or a 504 if it lost the answer to a write; it is logged whole, and
 * the client learns only the request's id.
 */
export function answerFault(
  { logger, isStorageReady }: FaultDeps,
  error: unknown,
  about: { requestId: string; route: string | undefined },
): Refusal {
  // One slow statement does not mean that Postgres is away: it may answer all others, and `/readyz` say so.
  if (isDriverTimeout(error) || isServerTimeout(error)) {
    logger.warn({ err: error, ...about }, 'Postgres did not answer a read in time.');
    return readTimedOut;
  }
  // A missing table is our fault, unless the database has not been migrated yet.
  const away = isTransient(error) || (isMissingSchema(error) && !isStorageReady());
  if (away) {
    const what = isRefusalOfRole(error) ? 'Postgres refuses a read.' : 'Postgres is away.';
    logger.warn({ err: error, ...about }, what);
    return storageAway;
  }
  logger.error({ err: error, ...about }, 'A request met a fault.');
  return error instanceof LostAnswer ? answerLost : internalError;
}

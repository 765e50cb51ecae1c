import { refuseInput } from '../../shared/contract/faults.js';
import type { AppContext, AppMiddleware, Reply } from './request-state.js';

/**
 * Refuses a request target that Node's parser lets pass and in which no path can be read, such as `http://[a/` and
 * `foo://bar`: everything behind here asks for the path, which throws for the one and is null for the other.
 */
export const refuseBadTarget: AppMiddleware = (ctx, next) => {
  if (hasPath(ctx)) return next();
  ctx.state.reply = badTarget;
  return undefined;
};

/** The parsed path is kept with the request, so that asking again costs nothing. */
function hasPath(ctx: AppContext): boolean {
  try {
    return typeof ctx.path === 'string';
  } catch {
    return false;
  }
}

const badTarget: Reply = {
  result: refuseInput('request', [{ path: 'path', message: 'The request target is no address with a path.' }]),
};

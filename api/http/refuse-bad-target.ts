import { refuseInput } from '../../shared/contract/faults.js';
import type { AppContext, AppMiddleware, Reply } from './request-state.js';

/**
 * Refuses a request target that Node's parser lets pass although it has no path, such as `http://[a/` and `foo://bar`:
 * all later layers read `ctx.path`, which throws for the first and is null for the second.
 */
export const refuseBadTarget: AppMiddleware = (ctx, next) => {
  if (hasPath(ctx)) return next();
  ctx.state.reply = badTarget;
  return undefined;
};

/** Koa keeps the parsed path, so the later layers read it for nothing. */
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

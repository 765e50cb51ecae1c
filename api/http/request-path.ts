import { refuseInput } from '../../shared/contract/faults.js';
import { decodeText } from './decode-text.js';
import type { AppContext, AppMiddleware, Reply } from './request-state.js';

// The three layers for the path of a request, in their order in the stack (`app.ts`): that there is one; that it is
// written in one way, whoever looks at it; and, only before the router, that it can be decoded.

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

/** Before all layers that look at the path. */
export const plainPath: AppMiddleware = (ctx, next) => {
  const { path } = ctx;
  const plain = unescapeUnreserved(path);
  if (plain !== path) ctx.path = plain;
  return next();
};

/** The escape of a letter, a digit, `-`, `.`, `_` or `~` (RFC 3986 §2.3). */
const escapedUnreserved = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;

/**
 * The same path with these characters as they are: escaped or not, it is one address (RFC 3986 §6.2.2.2). What is no
 * percent-encoding stays as it is, for `refuseBadPath`: of `%%34%31` it would make one.
 */
export function unescapeUnreserved(path: string): string {
  if (!path.includes('%') || decodeText(path) === undefined) return path;
  return path.replace(escapedUnreserved, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
}

/** Refuses a path that cannot be decoded: the router would go on with its raw text (reliability §1). */
export const refuseBadPath: AppMiddleware = (ctx, next) => {
  const { path } = ctx;
  if (!path.includes('%') || decodeText(path) !== undefined) return next();
  ctx.state.reply = badPath;
  return undefined;
};

const badPath: Reply = {
  result: refuseInput('path', [{ path: 'path', message: 'Is not percent-encoded UTF-8 without U+0000.' }]),
};

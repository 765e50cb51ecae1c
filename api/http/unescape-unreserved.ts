import type { AppMiddleware } from './request-state.js';

/** The escape of a letter, a digit, `-`, `.`, `_` or `~` (RFC 3986 §2.3). */
const escapedUnreserved = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;

/** The same path with these characters as they are: escaped or not, it is one address (RFC 3986 §6.2.2.2). */
export function unescapeUnreserved(path: string): string {
  return path.replace(escapedUnreserved, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
}

/** Before all layers that look at the path. What has no escapes, which is nearly everything, is left untouched. */
export const plainPath: AppMiddleware = (ctx, next) => {
  const { path } = ctx;
  if (path.includes('%')) ctx.path = unescapeUnreserved(path);
  return next();
};

import { decodeText } from './decode-text.js';
import type { AppMiddleware } from './request-state.js';

/** The escape of a letter, a digit, `-`, `.`, `_` or `~` (RFC 3986 §2.3). */
const escapedUnreserved = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;

/**
 * The same path with these characters as they are: escaped or not, it is one address (RFC 3986 §6.2.2.2). What is no
 * percent-encoding stays as it is, for `refuse-bad-path.ts`: of `%%34%31` it would make one.
 */
export function unescapeUnreserved(path: string): string {
  if (!path.includes('%') || decodeText(path) === undefined) return path;
  return path.replace(escapedUnreserved, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
}

/** Before all layers that look at the path. */
export const plainPath: AppMiddleware = (ctx, next) => {
  const { path } = ctx;
  const plain = unescapeUnreserved(path);
  if (plain !== path) ctx.path = plain;
  return next();
};

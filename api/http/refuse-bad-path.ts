import { refuseInput } from '../../shared/contract/faults.js';
import { decodeText } from './decode-text.js';
import type { AppMiddleware, Reply } from './request-state.js';

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

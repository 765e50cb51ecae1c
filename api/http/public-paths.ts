import { fail, succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { Services } from '../services.js';
import type { AppMiddleware } from './request-state.js';

const methods = 'GET, HEAD';
const paths = new Set(['/healthz', '/readyz']);

/** The methods of a path that needs no key, as `Allow` lists them; undefined for any other path. */
export function publicMethods(path: string): string | undefined {
  return paths.has(path) ? methods : undefined;
}

/** `/healthz` (the process runs) and `/readyz` (it can serve), for anyone (contract §1). */
export function publicPaths(services: Services): AppMiddleware {
  return (ctx, next) => {
    const { path, method, state } = ctx;
    if (!paths.has(path)) return next();
    state.route = path;
    if (method !== 'GET' && method !== 'HEAD') {
      const result = fail('METHOD_NOT_ALLOWED', `This path answers to ${methods} only.`);
      state.reply = { result, headers: { Allow: methods } };
      return undefined;
    }
    state.reply = { result: path === '/healthz' ? succeed({ status: 'ok' }) : readiness(services) };
    return undefined;
  };
}

/** What the dispatch last heard, asked twice a second whoever probes: a probe costs nothing and cannot hang. */
function readiness({ dispatch }: Services): Result<{ status: string }> {
  const { postgres, redis, worker } = dispatch.ready();
  const missing = [
    ...(postgres ? [] : ['Postgres does not answer']),
    ...(redis ? [] : ['Redis does not answer']),
    ...(worker || !redis ? [] : ['no worker is alive']),
  ];
  if (missing.length === 0) return succeed({ status: 'ready' });
  return fail('SERVICE_UNAVAILABLE', `Not ready: ${missing.join(', ')}.`, { retryAfterSeconds: 1 });
}

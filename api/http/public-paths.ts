import { succeed, unavailable } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { PublicFiles } from '../public-file.js';
import type { Services } from '../services.js';
import { refuseUnrouted } from './refuse-unrouted.js';
import type { AppMiddleware } from './request-state.js';
import { sendFile } from './send-file.js';

const methods = 'GET, HEAD';
export const healthPaths = ['/healthz', '/readyz'] as const;

export interface PublicPaths {
  answer: AppMiddleware;
  /** The methods of a path that needs no key, as `Allow` lists them; undefined for any other path. */
  allowedMethods(path: string): string | undefined;
}

/** `/healthz` (the process runs), `/readyz` (it can serve) and the reference's files, for anyone (contract §1). */
export function createPublicPaths(services: Services, files: PublicFiles): PublicPaths {
  const paths = new Set<string>([...healthPaths, ...files.keys()]);
  return {
    allowedMethods: (path) => (paths.has(path) ? methods : undefined),
    answer: (ctx, next) => {
      const { path, method, state } = ctx;
      if (!paths.has(path)) return next();
      state.route = path;
      const file = files.get(path);
      if (method !== 'GET' && method !== 'HEAD') {
        state.reply = refuseUnrouted(methods);
      } else if (file !== undefined) {
        return sendFile(ctx, file);
      } else {
        state.reply = { result: path === '/healthz' ? succeed({ status: 'ok' }) : readiness(services) };
      }
      return undefined;
    },
  };
}

/** What the dispatch last heard. It asks at times of its own, so that the answer costs nothing and cannot hang. */
function readiness({ dispatch }: Services): Result<{ status: string }> {
  const { postgres, redis, worker } = dispatch.ready();
  const missing = [
    ...(postgres ? [] : ['Postgres does not answer, takes no writes, or is not migrated']),
    ...(redis ? [] : ['Redis does not answer, or takes no writes']),
    ...(worker || !redis ? [] : ['no worker of this database is alive and can use it']),
  ];
  if (missing.length === 0) return succeed({ status: 'ready' });
  return unavailable(`Not ready: ${missing.join('; ')}.`);
}

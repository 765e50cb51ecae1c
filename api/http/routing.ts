import Router from '@koa/router';
import type { RouterMiddleware } from '@koa/router';
import { fail } from '../../shared/domain/errors.js';
import { mayUse } from '../caller.js';
import type { Services } from '../services.js';
import type { BodyReader } from './body/body-reader.js';
import { parseQuery } from './query.js';
import { refuseUnrouted } from './refuse-unrouted.js';
import { callerOf } from './request-state.js';
import type { AppContext, AppMiddleware, Reply, RequestState } from './request-state.js';
import type { Route } from './route.js';

export interface Routing {
  /** Runs the route of a request, or leaves it to `notRouted`. */
  routed: AppMiddleware;
  /** 405 with the path's methods in `Allow`, or 404 (contract §1 "Methods"). */
  notRouted: AppMiddleware;
  /** The methods of a path as `Allow` lists them; undefined for a path that is not there. */
  allowedMethods(path: string): string | undefined;
}

/**
 * The router of Koa over the table of routes: it matches and decodes paths. What else it does is switched off: it takes
 * HEAD for every GET, and its `allowedMethods()` answers OPTIONS with 200 and unknown methods with 501.
 */
export function createRouting(routes: readonly Route[], services: Services, readBody: BodyReader): Routing {
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  for (const route of routes) {
    const layer = router.register(route.path, [route.method], endpoint(route, services, readBody), {
      pathAsRegExp: route.path instanceof RegExp,
    });
    if ('methods' in layer) layer.methods = layer.methods.filter((method) => method !== 'HEAD');
  }
  const allowedMethods = (path: string) => allowOf(router.match(path, '').path);
  return {
    routed: router.routes() as unknown as AppMiddleware,
    allowedMethods,
    notRouted: (ctx) => {
      ctx.state.reply = refuseUnrouted(allowedMethods(ctx.path));
    },
  };
}

function allowOf(layers: readonly { methods: readonly string[] }[]): string | undefined {
  const methods = new Set(layers.flatMap((layer) => layer.methods));
  return methods.size === 0 ? undefined : [...methods].sort().join(', ');
}

/**
 * The checks that know the route, in the contract's order (§5): scope, content type, size, JSON, query; then its
 * handler.
 */
function endpoint(route: Route, services: Services, readBody: BodyReader): RouterMiddleware<RequestState> {
  const name = String(route.path);
  const answer = async (ctx: AppContext, variantId: string): Promise<Reply> => {
    const caller = callerOf(ctx);
    if (!mayUse(caller.scope, route.scope)) return writeScopeMissing;
    let body: unknown;
    if (route.types !== undefined) {
      const read = await readBody(ctx, route.types);
      if ('refusal' in read) return read.refusal;
      body = read.body;
    }
    const { method, path, req } = ctx;
    const query = parseQuery(ctx.querystring);
    if (!query.ok) return { result: query };
    return route.handle(services, { caller, method, path, variantId, query: query.data, body, headers: req.headers });
  };
  return async (ctx) => {
    const context = ctx as unknown as AppContext;
    context.state.route = name;
    context.state.reply = await answer(context, ctx.params['variantId'] ?? '');
  };
}

const writeScopeMissing: Reply = {
  result: fail('FORBIDDEN_SCOPE', 'This API key may only read; a key with the write scope is needed.'),
  headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="write"' },
};

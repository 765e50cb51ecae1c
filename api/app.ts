import type { BlockList } from 'node:net';
import Koa from 'koa';
import { statusByCode } from '../shared/domain/errors.js';
import type { Logger } from '../shared/runtime/logger.js';
import { loadAgentSurface } from './agent/load-agent-surface.js';
import { arrivalMsMax, lingerMs } from './config.js';
import { agent, agentMethods } from './http/agent.js';
import { authenticate } from './http/authenticate.js';
import { createBodyReader } from './http/body/body-reader.js';
import type { BodyReader } from './http/body/body-reader.js';
import { leaveBodyMemory } from './http/body/read-body.js';
import { answerFault, catchFaults } from './http/catch-faults.js';
import { createClientAddress, createIsForwarded } from './http/client-address.js';
import { createConnectionTurns } from './http/connection-turns.js';
import type { ConnectionTurns } from './http/connection-turns.js';
import { createApiServer } from './http/connections/server.js';
import type { ApiServer } from './http/connections/server.js';
import { countUnread } from './http/count-unread.js';
import { envelope } from './http/envelope.js';
import { createFailedAttempts } from './http/failed-attempts.js';
import { createKeyRing } from './http/key-ring.js';
import { observeRequests, serverErrorLine } from './http/observe-requests.js';
import { createPublicPaths } from './http/public-paths.js';
import type { PublicPaths } from './http/public-paths.js';
import { rateLimit } from './http/rate-limit.js';
import { plainPath, refuseBadPath, refuseBadTarget, unescapeUnreserved } from './http/request-path.js';
import type { AppMiddleware, RequestState } from './http/request-state.js';
import { requirePlan } from './http/require-plan.js';
import { createRouting } from './http/routing.js';
import type { Routing } from './http/routing.js';
import { createShopLimiter } from './http/shop-limiter.js';
import { createWarningAllowance } from './http/warning-allowance.js';
import { createReference } from './reference/reference.js';
import { routes } from './rest/routes.js';
import type { Services } from './services.js';
import { parseTrustedProxies } from './trusted-proxies.js';

/** The HTTP server with the app in it, not listening yet. */
export function createAppServer(services: Services): ApiServer {
  const readBody = createBodyReader();
  const routing = createRouting(routes, services, readBody);
  const publicPaths = createPublicPaths(services, createReference(routes));
  const { settings, logger, metrics, dispatch } = services;
  const keepAliveMs = settings.KEEP_ALIVE_TIMEOUT_MS;
  const trustedProxies = parseTrustedProxies(settings.TRUSTED_PROXIES);
  const turns = createConnectionTurns({
    inHandMax: (shopId) => dispatch.inHandMax(shopId),
    keepAliveMs,
    isForwarded: createIsForwarded(trustedProxies),
  });
  const mayWarn = createWarningAllowance(logger);
  const layers = stack({ services, routing, publicPaths, trustedProxies, turns, readBody, mayWarn });
  const server = createApiServer({
    handle: createApp(layers, logger).callback(),
    allowedMethods: (target) => {
      const path = unescapeUnreserved(target);
      return publicPaths.allowedMethods(path) ?? agentMethods(path) ?? routing.allowedMethods(path);
    },
    onRefused: ({ code, message }, requestId) => {
      const status = statusByCode[code];
      metrics.refusedBeforeApp(status);
      if (status >= 500 && mayWarn()) logger.warn({ requestId, status, code, reason: message }, serverErrorLine);
    },
    logger,
    timeouts: {
      headersMs: settings.HEADERS_TIMEOUT_MS,
      requestMs: settings.REQUEST_TIMEOUT_MS,
      answerMs: settings.ANSWER_TIMEOUT_MS,
      keepAliveMs,
      lingerMs,
      arrivalMs: arrivalMsMax(settings),
    },
    connectionsMax: settings.MAX_CONNECTIONS,
  });
  return {
    listen: (port, host) => server.listen(port, host),
    close: () => {
      turns.close();
      return server.close();
    },
  };
}

/** Koa with these layers, outermost first. Opens nothing. */
function createApp(middlewares: AppMiddleware[], logger: Logger): Koa<RequestState> {
  const app = new Koa<RequestState>();
  // Koa's own handler prints to the console. An error with a code is a socket that broke while an answer was written;
  // any other was thrown by a layer outside of `catchFaults`, after the answer.
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== undefined) logger.debug({ err: error }, 'An answer did not reach its client.');
    else logger.error({ err: error }, 'A fault came after an answer.');
  });
  for (const middleware of middlewares) app.use(middleware);
  return app;
}

interface Parts {
  services: Services;
  routing: Routing;
  publicPaths: PublicPaths;
  trustedProxies: BlockList;
  turns: ConnectionTurns;
  readBody: BodyReader;
  mayWarn: () => boolean;
}

/**
 * Every layer that a request passes, outermost first; the order of the checks is the contract's (§5). Those that know
 * the route (scope, body, query) are in `routed`.
 */
function stack({ services, routing, publicPaths, trustedProxies, turns, readBody, mayWarn }: Parts): AppMiddleware[] {
  const { settings, logger, metrics, database, reads, limiterRedis, dispatch } = services;
  const faults = { logger, isStorageReady: () => dispatch.ready().postgres };
  return [
    observeRequests(logger, metrics.answered, mayWarn),
    countUnread(reads),
    envelope(logger),
    catchFaults(faults),
    refuseBadTarget,
    plainPath,
    publicPaths.answer,
    authenticate({
      keys: createKeyRing({ database, logger }),
      failures: createFailedAttempts(),
      clientAddress: createClientAddress(trustedProxies),
    }),
    turns.take,
    rateLimit(
      createShopLimiter({
        redis: limiterRedis,
        points: settings.RATE_LIMIT_POINTS,
        windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
        instances: settings.API_INSTANCES,
        logger,
        metrics,
      }),
    ),
    leaveBodyMemory,
    agent(loadAgentSurface({ services, answerFault: (error, about) => answerFault(faults, error, about) }), readBody),
    requirePlan,
    refuseBadPath,
    routing.routed,
    routing.notRouted,
  ];
}

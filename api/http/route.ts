import type { IncomingHttpHeaders } from 'node:http';
import type { QueryParameters } from '../../shared/contract/read-query.js';
import type { KeyScope } from '../../shared/database/api-keys.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import type { Reply } from './request-state.js';

/** One line of the table of routes. */
export interface Route {
  method: 'GET' | 'PATCH';
  /** As @koa/router takes it. */
  path: string | RegExp;
  scope: KeyScope;
  /** Content types of the body; a route without them reads no body. */
  types?: readonly string[];
  handle: (services: Services, request: RouteRequest) => Reply | Promise<Reply>;
}

/** What a handler sees of a request: no Koa. Only the values in query, body and headers are still to be checked. */
export interface RouteRequest {
  caller: Caller;
  method: string;
  /** Without the query, and with what need not be percent-encoded unescaped (`plainPath`): one address, one path. */
  path: string;
  /** The material in the path, decoded; empty on the list, whose path has none, and for a raw global id (`routes`). */
  variantId: string;
  query: QueryParameters;
  /** The parsed JSON; undefined where the route takes no body. */
  body: unknown;
  headers: IncomingHttpHeaders;
}

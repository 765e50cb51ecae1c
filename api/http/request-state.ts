import type { ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Refusal, Result } from '../../shared/domain/errors.js';
import type { ToolRefusal } from '../agent-exchange.js';
import type { Caller } from '../caller.js';
import type { BodyPlace } from './body/body-memory.js';

/** What a request is answered with; the envelope makes bytes of it. */
export interface Reply {
  result: Result<unknown>;
  headers?: Readonly<Record<string, string>>;
}

export interface RefusalReply extends Reply {
  result: Refusal;
}

/** What the middleware learns about a request on its way in. */
export interface RequestState {
  requestId: string;
  /** Headers of the answer, whatever it will be; written in one go, which is several times cheaper than one by one. */
  headers: Record<string, string>;
  reply: Reply | undefined;
  /** For the log: an agent's answer is no `reply`. */
  toolRefusal: ToolRefusal | undefined;
  /** Set by authentication; every later middleware, and every route, gets it from `callerOf`. */
  caller: Caller | undefined;
  /** The pattern of the path, for the log. */
  route: string | undefined;
  /** The body was not read to its end, or could not be: no other request can follow on the connection. */
  lastOfConnection: boolean;
  /** The share of memory that a large body holds (`leaveBodyMemory` gives it back). */
  bodyPlace: BodyPlace | undefined;
}

/** The state of a request of which nothing is known yet. */
export function newState(requestId: string): RequestState {
  return {
    requestId,
    headers: {},
    reply: undefined,
    toolRefusal: undefined,
    caller: undefined,
    route: undefined,
    lastOfConnection: false,
    bodyPlace: undefined,
  };
}

export type AppContext = Koa.ParameterizedContext<RequestState>;
export type AppMiddleware = Koa.Middleware<RequestState>;

const stateOfAnswer = Symbol('the state of the request that is answered');

interface StatefulResponse {
  [stateOfAnswer]?: RequestState;
}

/** For the server, which has to answer in the app's place when a body breaks off, and knows only Node's response. */
export function keepState(res: ServerResponse & StatefulResponse, state: RequestState): void {
  res[stateOfAnswer] = state;
}

/** Undefined if the app has not begun with the request. */
export function keptState(res: ServerResponse & StatefulResponse): RequestState | undefined {
  return res[stateOfAnswer];
}

/** @throws before authentication, which is a programmer's error */
export function callerOf(ctx: AppContext): Caller {
  const { caller } = ctx.state;
  if (caller === undefined) throw new Error('a route was reached without authentication');
  return caller;
}

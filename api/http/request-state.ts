import type { ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Refusal, Result } from '../../shared/domain/errors.js';
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
  /** Set by authentication; every middleware and route behind it may rely on it through `callerOf`. */
  caller: Caller | undefined;
  /** The pattern of the path, for the log. */
  route: string | undefined;
  /** The body was not read to its end, or was none that we could read: the connection carries no other request. */
  lastOfConnection: boolean;
  /** What a large body takes of the process's memory. */
  bodyPlace: BodyPlace | undefined;
}

export type AppContext = Koa.ParameterizedContext<RequestState>;
export type AppMiddleware = Koa.Middleware<RequestState>;

const stateOfAnswer = Symbol('the state of the request that is answered');

interface Answered {
  [stateOfAnswer]?: RequestState;
}

/** For what answers in the app's place, in the middle of a request: it knows only Node's response. */
export function keepState(res: ServerResponse & Answered, state: RequestState): void {
  res[stateOfAnswer] = state;
}

/** Undefined where the app has not begun with the request. */
export function keptState(res: ServerResponse & Answered): RequestState | undefined {
  return res[stateOfAnswer];
}

export function callerOf(ctx: AppContext): Caller {
  const { caller } = ctx.state;
  if (caller === undefined) throw new Error('a route was reached without authentication');
  return caller;
}

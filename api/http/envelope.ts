import { STATUS_CODES } from 'node:http';
import type { ServerResponse } from 'node:http';
import { apiVersion } from '../../shared/contract/envelope.js';
import { problemType } from '../../shared/contract/problem.js';
import { statusByCode } from '../../shared/domain/errors.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { answerLost, internalError } from '../fault-answers.js';
import { isHeldBack } from './connections/held-back-body.js';
import { problemBody, wantsProblem } from './problem.js';
import type { AppMiddleware, Reply } from './request-state.js';

/**
 * Writes the reply that the inner layers put into the state, in the envelope of the specification (spec §Success
 * envelope, contract §2). It bypasses Koa's own response: headers go out in one call, and the body is serialised once.
 */
export function envelope(logger: Logger): AppMiddleware {
  return async (ctx, next) => {
    ctx.respond = false;
    await next();
    const { res, state } = ctx;
    const { requestId, headers, reply, lastOfConnection } = state;
    // The server may have answered already, where the rest of the request was not HTTP or came too late.
    if (res.headersSent || res.destroyed) return;
    try {
      if (reply === undefined) throw new Error('a request was left without a reply');
      sendReply(res, { requestId, reply, headers, lastOfConnection });
    } catch (error) {
      logger.error({ err: error, requestId, route: state.route }, 'An answer could not be written.');
      const isChange = reply?.result.ok === true && ctx.method !== 'GET' && ctx.method !== 'HEAD';
      sendInPlace(res, { requestId, reply: { result: isChange ? answerLost : internalError } });
    }
  };
}

/** Sends an answer in place of one that could not be written; if that one has begun, cuts the connection off. */
function sendInPlace(res: ServerResponse, answer: Answer): void {
  if (res.headersSent) res.destroy();
  else sendReply(res, answer);
}

export interface Answer {
  requestId: string;
  reply: Reply;
  headers?: Readonly<Record<string, string>>;
  /** Nothing that follows this request on its connection can be read as a request. */
  lastOfConnection?: boolean;
}

/** Sends a whole answer. For HEAD Node leaves the body out by itself. */
export function sendReply(res: ServerResponse, answer: Answer): void {
  const { requestId, reply, headers } = answer;
  const lastOfConnection = answer.lastOfConnection === true || isHeldBack(res);
  const rendered = render(requestId, reply, res.req.headers.accept);
  const { status, body } = rendered;
  const own = answerHeaders(requestId, reply, rendered);
  // Not a literal that begins with a spread: for each one Node 20 makes new hidden classes, which are allocated in the
  // old generation.
  res.writeHead(status, Object.assign(own, headers, reply.headers, lastOfConnection && { Connection: 'close' }));
  res.end(body);
}

/**
 * An answer as the text that goes over the wire, for a request that Node's parser refused and made no response for. It
 * ends its connection.
 *
 * @param accept the request's Accept, where its headers are known
 */
export function renderRaw(requestId: string, reply: Reply, accept?: string): string {
  const rendered = render(requestId, reply, accept);
  const { status, body } = rendered;
  const lines = Object.entries({
    ...answerHeaders(requestId, reply, rendered),
    ...reply.headers,
    Date: new Date().toUTCString(),
    Connection: 'close',
  });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

interface Rendered {
  status: number;
  type: string;
  body: string;
}

function render(requestId: string, { result }: Reply, accept: string | undefined): Rendered {
  const meta = `,"meta":{"requestId":"${requestId}","apiVersion":"${apiVersion}"}}`;
  if (result.ok) return { status: 200, type: defaultType, body: `{"data":${JSON.stringify(result.data)}${meta}` };
  const { error } = result;
  const { code, message, details } = error;
  const status = statusByCode[code];
  if (wantsProblem(accept)) return { status, type: problemType, body: problemBody(error, requestId) };
  return { status, type: defaultType, body: `{"error":${JSON.stringify({ code, message, details })}${meta}` };
}

const defaultType = 'application/json; charset=utf-8';

function answerHeaders(requestId: string, { result }: Reply, { type, body }: Rendered): Record<string, string> {
  const headers: Record<string, string> = {
    'Content-Type': type,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
  };
  if (!result.ok && result.error.retryAfterSeconds !== undefined) {
    headers['Retry-After'] = String(result.error.retryAfterSeconds);
  }
  return headers;
}

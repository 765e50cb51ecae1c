import { Agent, request as nodeRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expectDocumented } from './documented.js';
import { afterOwnTime } from '../time/own-time.js';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body parsed as JSON; `undefined` when it is not JSON. A test knows what shape it expects. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- bodies are what the tests are there to find out
  body: any;
  text: string;
}

export interface Asked {
  method?: string;
  /** With its query, as it goes over the wire. */
  path: string;
  key?: string | undefined;
  headers?: Record<string, string | string[]>;
  /** A string or bytes go as they are; anything else as JSON. */
  body?: unknown;
  /** In the machine's own time. */
  deadlineMs?: number;
}

const deadlineMsDefault = 30_000;
const rawDeadlineMs = 5_000;
/**
 * An idle connection is not used again after this, and closed. An API that is told to stop closes what is idle after a
 * second: a client, or a balancer, that lets go before that never sends a request into the end of a connection.
 */
const idleMsMax = 500;
/** Of the second after which such an API closes what is idle, this leaves the rest for a request to arrive in. */
const trustedMsMax = 800;
const agents = new Map<string, Agent>();
/** When the last request was sent on each connection. */
const lastSentMs = new WeakMap<Socket, number>();

/** One request over a kept connection of this service. `path` is appended to the origin, not to a base path. */
export function request(baseUrl: string, asked: Asked): Promise<Answer> {
  const { method = 'GET', path, key, body, deadlineMs = deadlineMsDefault } = asked;
  const { hostname, port, origin } = new URL(baseUrl);
  const payload = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const headers: Record<string, string | string[] | number> = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
    ...asked.headers,
  };
  return new Promise((resolve, reject) => {
    const takeBack = afterOwnTime(deadlineMs, () => {
      sent.destroy(new Error(`${method} ${path}: no answer within ${String(deadlineMs)} ms`));
    });
    const sent = nodeRequest({ agent: agentOf(origin), hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const answer = { status: response.statusCode ?? 0, headers: response.headers, body: parsed(text), text };
        resolve(documented(asked, answer));
      });
    });
    sent.once('socket', (socket) => lastSentMs.set(socket, performance.now()));
    sent.once('close', takeBack);
    sent.once('error', reject);
    sent.end(payload);
  });
}

/** Every reply of the suite is one that the OpenAPI document describes; one that is not rejects its request. */
async function documented(asked: Asked, answer: Answer): Promise<Answer> {
  expectDocumented(asked, answer);
  return answer;
}

/**
 * Whether a request sent now would go over a connection that is open already, and that an API told to stop has not
 * closed yet. The time counts from the request before: had this process stood still since, the answer may have been
 * there unread, and to the API the connection was idle.
 */
export function hasIdleConnection(baseUrl: string): boolean {
  const { freeSockets } = agents.get(new URL(baseUrl).origin) ?? {};
  // The agent takes the one that became free last.
  const next = Object.values(freeSockets ?? {})[0]?.at(-1);
  return next?.destroyed === false && performance.now() - (lastSentMs.get(next) ?? 0) <= trustedMsMax;
}

/** Closes the kept connections of a service; without this they would hold the run open. */
export function closeConnections(baseUrl: string): void {
  const { origin } = new URL(baseUrl);
  agents.get(origin)?.destroy();
  agents.delete(origin);
}

/** Writes bytes as they are and returns what comes back: until the server closes, or one whole answer is there. */
export function raw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let text = '';
    const settle = () => {
      takeBack();
      socket.destroy();
      resolve(text);
    };
    const takeBack = afterOwnTime(rawDeadlineMs, () => {
      socket.destroy();
      reject(new Error(`No whole answer within ${String(rawDeadlineMs)} ms; so far: ${JSON.stringify(text)}`));
    });
    socket.setEncoding('latin1');
    socket.once('connect', () => socket.write(bytes));
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (isWhole(text)) settle();
    });
    socket.once('end', settle);
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // The server may close while we still write: what it said until then is the answer.
      if (text !== '' || error.code === 'ECONNRESET' || error.code === 'EPIPE') return settle();
      takeBack();
      reject(error);
    });
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  if (/^HTTP\/1\.1 1\d\d /.test(head)) return isWhole(body);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) return body.length >= Number(length);
  if (/^transfer-encoding: *chunked/im.test(head)) return body.endsWith('0\r\n\r\n');
  return /^HTTP\/1\.1 (204|304) /.test(head);
}

function agentOf(origin: string): Agent {
  const known = agents.get(origin);
  if (known) return known;
  const agent = new Agent({ keepAlive: true, timeout: idleMsMax });
  agents.set(origin, agent);
  return agent;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

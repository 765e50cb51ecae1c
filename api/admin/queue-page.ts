import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../shared/runtime/logger.js';
import type { QueueBoard } from './queue-board.js';

export interface QueuePage {
  /** Answers what is below `/queues`; false for any other path. */
  handle(req: IncomingMessage, res: ServerResponse): boolean;
  close(): void;
}

export interface QueuePageDeps {
  /** Undefined: there is no such page. */
  token: string | undefined;
  redisUrl: string;
  logger: Logger;
}

const queuePagePath = '/queues';

/**
 * The page that shows what waits in the queues (reliability §3), for those who have the token: in a browser as the
 * password of any user name, otherwise as a bearer token. It only reads: methods other than GET and HEAD are refused
 * before bull-board sees them.
 */
export function createQueuePage({ token, redisUrl, logger }: QueuePageDeps): QueuePage {
  let opening: Promise<QueueBoard> | undefined;

  const open = () => {
    opening ??= import('./queue-board.js')
      .then(({ openQueueBoard }) => openQueueBoard({ redisUrl, basePath: queuePagePath, logger }))
      .catch((error: unknown) => {
        // So that the next request tries again.
        opening = undefined;
        throw error;
      });
    return opening;
  };

  async function show(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      await (await open()).handle(req, res);
    } catch (error) {
      logger.warn({ err: error }, 'The queue page cannot be shown.');
      if (!res.headersSent) refuse(res, 503, 'The queues cannot be read at the moment.');
    }
  }

  return {
    handle(req, res) {
      const path = (req.url ?? '').split('?', 1)[0] ?? '';
      if (token === undefined || (path !== queuePagePath && !path.startsWith(`${queuePagePath}/`))) return false;
      for (const [name, value] of Object.entries(pageHeaders)) res.setHeader(name, value);
      if (!isToken(token, shownToken(req)))
        refuse(res, 401, 'The token is needed, as a password or bearer token.', ask);
      else if (req.method !== 'GET' && req.method !== 'HEAD') refuse(res, 405, 'This page only shows.', onlyReads);
      else void show(req, res);
      return true;
    },
    close() {
      opening?.then(
        (board) => board.close(),
        () => undefined,
      );
    },
  };
}

const ask = { 'WWW-Authenticate': 'Basic realm="queues", charset="UTF-8"' };
const onlyReads = { Allow: 'GET, HEAD' };

/** Nothing may be fetched from elsewhere: the page would take its font from Google. */
const pageHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

function shownToken({ headers: { authorization = '' } }: IncomingMessage): string {
  const [, scheme = '', credentials = ''] = /^(bearer|basic) +(\S+) *$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'basic') return credentials;
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}

/** Compares hashes, which have the same length, so that the time it takes tells nothing about the token. */
function isToken(token: string, shown: string): boolean {
  const sum = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(sum(token), sum(shown));
}

function refuse(res: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void {
  const body = `${message}\n`;
  res.writeHead(status, {
    ...headers,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  res.end(body);
}

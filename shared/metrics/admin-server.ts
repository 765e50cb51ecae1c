import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

export interface AdminServer {
  /** The port it listens on; a free one if 0 was asked for. */
  port: number;
  /** Ends at once, and cuts off what is under way. */
  close(): Promise<void>;
}

export interface AdminServerOptions {
  host: string;
  port: number;
  registry: Registry;
  /** Answers paths beyond `/metrics` and `/healthz`; returns false if it has not answered. */
  handle?: (req: IncomingMessage, res: ServerResponse) => boolean;
}

/** One Prometheus, or two, and a person who looks: more is a mistake, and must not take the process's sockets. */
const connectionsMax = 64;
const headerBytesMax = 8_192;
const requestMsMax = 5_000;

/**
 * The second port of a process, for those who run it: `/metrics` in Prometheus' text format, and `/healthz`. Plain HTTP
 * without keys, so it belongs on the loopback or into a network of one's own (reliability §3).
 *
 * @throws (a rejection) where the port is taken
 */
export function startAdminServer({ host, port, registry, handle }: AdminServerOptions): Promise<AdminServer> {
  const server = createServer({ maxHeaderSize: headerBytesMax, requestTimeout: requestMsMax }, (req, res) => {
    if (handle?.(req, res) === true) return;
    void answer(registry, req, res);
  });
  server.maxConnections = connectionsMax;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}

const text = 'text/plain; charset=utf-8';

async function answer(registry: Registry, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = (req.url ?? '').split('?', 1)[0];
  if (path !== '/metrics' && path !== '/healthz') return sendText(res, 404, text, 'There is nothing at this path.\n');
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('Allow', 'GET, HEAD');
    return sendText(res, 405, text, 'This path answers to GET, HEAD only.\n');
  }
  if (path === '/healthz') return sendText(res, 200, text, 'ok\n');
  try {
    sendText(res, 200, registry.contentType, await registry.metrics());
  } catch (error) {
    // A gauge that cannot be read must be seen as just that, not as a process that has gone away.
    sendText(res, 500, text, `The metrics could not be read: ${(error as Error).message}\n`);
  }
}

function sendText(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  res.end(body);
}

import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PrefixProxy {
  /** With the prefix, and no slash at its end. */
  url: string;
  close(): Promise<void>;
}

/** As `location /rm/ { proxy_pass http://127.0.0.1:3000/; }` of nginx: takes the prefix away, and has nothing else. */
export async function startPrefixProxy(port: number, prefix: string): Promise<PrefixProxy> {
  const server = createServer((asked, answer) => {
    const target = asked.url ?? '';
    if (!target.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end();
      return;
    }
    const { method, headers } = asked;
    const path = target.slice(prefix.length);
    const passed = request({ host: '127.0.0.1', port, method, path, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(answer);
    });
    passed.once('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}${prefix}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

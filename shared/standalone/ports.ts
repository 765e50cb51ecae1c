import { connect, createServer } from 'node:net';

const loopback = '127.0.0.1';
const connectMsMax = 1_000;

/**
 * A port of the loopback that nobody listens on, chosen by the operating system. Between this answer and its use another
 * process may take it: whoever starts a server on it must be ready to ask again.
 */
export async function freePort(): Promise<number> {
  const port = await listenBriefly(0);
  if (port === undefined) throw new Error('The operating system gives out no free port on 127.0.0.1.');
  return port;
}

/** The wanted port when it is free, else another: busy ports move (platform §1). 0 asks for any. */
export async function portOrFree(wanted: number): Promise<number> {
  if (wanted === 0) return freePort();
  // A listener on all addresses does not stop a bind to the loopback alone on macOS: so it is asked as well.
  if (await answers(wanted)) return freePort();
  return (await listenBriefly(wanted)) ?? freePort();
}

/** The port bound, or `undefined` when it cannot be: taken, or below 1024 and closed to this user. */
function listenBriefly(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ port, host: loopback, exclusive: true }, () => {
      const address = server.address();
      const bound = address !== null && typeof address === 'object' ? address.port : undefined;
      server.close(() => {
        resolve(bound);
      });
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: loopback });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(connectMsMax, () => {
      settle(true);
    });
    socket.once('connect', () => {
      settle(true);
    });
    socket.once('error', () => {
      settle(false);
    });
  });
}

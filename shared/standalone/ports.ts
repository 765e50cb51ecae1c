import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

const loopback = '127.0.0.1';
const connectMsMax = 1_000;

/**
 * Below the range from which Linux (32768) and macOS (49152) take the ports of outgoing connections: a killed server
 * must get its port back, and there any client could have been given it meanwhile.
 */
const portsFrom = 20_000;
const portsTo = 32_767;
const attemptsMax = 100;

/** A port of 127.0.0.1 that nobody listens on now. Another process may take it before it is used: then ask again. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const port = await listenBriefly(randomInt(portsFrom, portsTo + 1));
    if (port !== undefined) return port;
  }
  throw new Error(`No free port was found on 127.0.0.1 between ${portsFrom} and ${portsTo}.`);
}

/** `count` different free ports, without those that are `reserved`. */
export async function freePorts(count: number, reserved: readonly number[]): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = await freePort();
    if (!reserved.includes(port)) ports.add(port);
  }
  return [...ports];
}

/** The wanted port when it is free, else another: busy ports move (platform §1). 0 asks for any. */
export async function portOrFree(wanted: number): Promise<number> {
  if (wanted === 0) return freePort();
  // On macOS a listener on all addresses does not stop a bind to the loopback alone, so we also try to connect.
  if (await answers(wanted)) return freePort();
  return (await listenBriefly(wanted)) ?? freePort();
}

/** The port bound, or `undefined` when it cannot be: taken, or below 1024 and closed to this user. */
function listenBriefly(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: loopback, exclusive: true }, () => {
      const address = server.address();
      const bound = address !== null && typeof address === 'object' ? address.port : undefined;
      server.close(() => resolve(bound));
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
    socket.setTimeout(connectMsMax, () => settle(true));
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}

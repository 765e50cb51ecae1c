import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** One connection on its way through. Nothing passes by itself. */
interface Passing {
  client: Socket;
  server: Socket;
  /** Ends both sides at once. */
  end: () => void;
}

/** A way to a database on which `pass` decides, connection by connection, what reaches the other side. */
export async function openPassage(databaseUrl: string, pass: (passing: Passing) => void) {
  const url = new URL(databaseUrl);
  const port = Number(url.port);
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect({ port, host: '127.0.0.1' });
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    pass({ client, server, end });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    close: () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

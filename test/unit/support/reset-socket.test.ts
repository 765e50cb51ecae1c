import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { resetSocket } from '../../support/http/reset-socket.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 5_000;

const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

describe('resetSocket', () => {
  for (const { what, before } of [
    { what: 'of an open connection', before: () => undefined },
    { what: 'in the moment in which its end is on the way', before: (socket: Socket) => socket.end() },
    { what: 'behind what nobody reads', before: (socket: Socket) => socket.end(Buffer.alloc(20_000_000)) },
  ]) {
    it(`${what} closes the socket`, async () => {
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, '127.0.0.1');
      const accepted = once(server, 'connection');
      await once(server, 'listening');
      const openBefore = countSockets();
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      const [peer] = (await accepted) as [Socket];
      peer.on('error', () => undefined);
      before(socket);
      resetSocket(socket);
      await until(() => socket.closed, { deadlineMs: soonMsMax, what: 'the close' });
      peer.destroy();
      await until(() => countSockets() === openBefore, { deadlineMs: soonMsMax, what: 'nothing to be left of it' });
      server.close();
      await once(server, 'close');
    });
  }
});

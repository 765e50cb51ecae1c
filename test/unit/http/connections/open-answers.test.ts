import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import type { ApiServer } from '../../../../api/http/connections/server.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { until } from '../../../support/time/until.js';

const soonMsMax = 5_000;
/** How many may be open at once in a process, and how many on a connection that is still read on. */
const [processMax, aheadCount] = [10_000, 90];
const read = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe('the answers that are open in the server of the API', () => {
  let server: ApiServer;
  let port: number;
  let isAnswered: boolean;
  let asked: number;
  let unanswered: ServerResponse[];
  /** Of both ends, because one that is not read does not hear that the other is gone. */
  let sockets: Socket[];

  beforeEach(async () => {
    [isAnswered, asked, sockets, unanswered] = [true, 0, [], []];
    server = createBareServer(({ socket }, res: ServerResponse) => {
      asked += 1;
      sockets.push(socket);
      if (isAnswered) res.end();
      else unanswered.push(res);
    });
    port = await server.listen(0, '127.0.0.1');
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });

  const open = () => {
    const socket = connect({ port, host: '127.0.0.1' });
    sockets.push(socket);
    return socket.on('error', () => undefined).resume();
  };
  async function sendAhead(socket: Socket, count: number): Promise<void> {
    const before = asked;
    socket.write(read.repeat(count));
    const isDone = () => asked - before === count || socket.destroyed;
    await until(isDone, { deadlineMs: soonMsMax, what: 'all requests' });
    expect(asked - before, 'requests that were begun').to.equal(count);
  }

  it('are not those that were given: who sends ahead may go on with that', async () => {
    const socket = open();
    for (let sent = 0; sent <= processMax; sent += aheadCount) await sendAhead(socket, aheadCount);
  });

  it('are not those whose connection is gone: others may send ahead', async () => {
    isAnswered = false;
    for (let sent = 0; sent <= processMax; sent += aheadCount) {
      const socket = open();
      await sendAhead(socket, aheadCount);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.destroy();
      await closed;
    }
    await sendAhead(open(), 2);
  });

  it('are a hundred on a connection before it is read no more, and it is read again when they are given', async () => {
    isAnswered = false;
    const socket = open();
    await sendAhead(socket, 100);
    expect(unanswered[0]?.socket?.isPaused()).to.equal(true);
    socket.write(read);
    for (const answer of unanswered) answer.end();
    await until(() => asked === 101, { deadlineMs: soonMsMax, what: 'the request behind them' });
  });

  it('are also those that refuse an expectation: a connection with too many of them is cut off', async () => {
    isAnswered = false;
    const socket = open();
    socket.write(read + 'GET / HTTP/1.1\r\nExpect:x\r\n\r\n'.repeat(1_500));
    await until(() => socket.closed, { deadlineMs: soonMsMax, what: 'the end of the connection' });
  });
});

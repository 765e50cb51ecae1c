import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { mock } from 'node:test';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { ApiServer } from '../../../../api/http/connections/server.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { textUntilClosed } from '../../../support/http/raw-exchange.js';
import { standStill } from '../../../support/processes/stand-still.js';
import { timerCount } from '../../../support/time/timer-count.js';
import { until } from '../../../support/time/until.js';

const soonMsMax = 5_000;
const read = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const request = 'PATCH / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';

describe('the server of the API, while it closes', () => {
  let server: ApiServer;
  let port: number;
  let answers: ServerResponse[];
  let sockets: Socket[];

  beforeEach(() => {
    answers = [];
    sockets = [];
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });

  async function listen(lingerMs: number, arrivalMs = lingerMs): Promise<void> {
    const timeouts = { lingerMs, arrivalMs };
    server = createBareServer((_, res) => answers.push(res), { timeouts, connectionsMax: 100 });
    port = await server.listen(0, '127.0.0.1');
  }

  /** A connection that has sent this; `closed` when it is over, with all that came on it. */
  async function send(text: string) {
    const socket = connect({ port, host: '127.0.0.1' });
    sockets.push(socket);
    const closed = textUntilClosed(socket);
    await new Promise((resolve) => socket.write(text, resolve));
    return { socket, closed };
  }
  const begun = (count: number) =>
    until(() => answers.length === count, { deadlineMs: soonMsMax, what: `${count} requests` });

  it('cuts off what has not arrived whole in time, and answers what has, however long that takes', async () => {
    await listen(50);
    const whole = await send(request);
    await begun(1);
    const part = await send('PATCH / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{');
    await begun(2);
    const closing = server.close();
    expect(await part.closed).to.equal('');
    answers[0]?.end('{}');
    expect(await whole.closed).to.match(/\{\}$/);
    await closing;
  });

  it('waits no longer for a connection that has never sent a byte than for any idle one', async () => {
    await listen(50, 60_000);
    const { closed } = await send('');
    await server.close();
    expect(await closed).to.equal('');
  });

  it('leaves no timer behind, which would keep its process open', async () => {
    // Mocha begins its own timer behind the first turn of a test.
    await nextTurn();
    const before = timerCount();
    await listen(50, 60_000);
    await server.close();
    expect(timerCount()).to.equal(before);
  });

  it('answers on the connections, too, that it has not accepted yet, of which the kernel hands over one a turn', async () => {
    await listen(1_000);
    sockets = Array.from({ length: 30 }, () => connect({ port, host: '127.0.0.1' }));
    for (const socket of sockets) socket.write(request);
    const closed = sockets.map(textUntilClosed);
    // By then all have connected, in their own next ticks, and this process has had no turn to accept one.
    await new Promise((resolve) => process.nextTick(resolve));
    const closing = server.close();
    await begun(sockets.length);
    for (const answer of answers) answer.end('{}');
    for (const text of await Promise.all(closed)) expect(text).to.match(/\{\}$/);
    await closing;
  });

  it('answers all that was sent ahead on a connection, and says only of the last that it is', async () => {
    await listen(1_000);
    const { closed } = await send(read + read);
    await begun(2);
    const closing = server.close();
    for (const answer of answers) answer.end('{}');
    const [, first = '', last = ''] = (await closed).split('HTTP/1.1 200 OK');
    expect(first).to.match(/\{\}$/).and.not.to.contain('Connection: close');
    expect(last).to.match(/\{\}$/).and.to.contain('Connection: close');
    await closing;
  });

  it('answers also what comes behind a request that was to be the last until then', async () => {
    await listen(1_000);
    const { socket, closed } = await send(read);
    await begun(1);
    const closing = server.close();
    socket.write(read);
    await begun(2);
    for (const answer of answers) answer.end('{}');
    expect((await closed).match(/\{\}/g)).to.have.length(2);
    await closing;
  });

  it('goes on with an answer that has ended, and of which a client has yet to take the most', async () => {
    const lingerMs = 50;
    await listen(lingerMs);
    const bytes = 32 * 1_048_576;
    const socket = connect({ port, host: '127.0.0.1' });
    sockets.push(socket);
    socket.write(read);
    await begun(1);
    const answer = answers[0] ?? expect.fail();
    // Its head goes before the close, so it does not say that it is the last.
    answer.writeHead(200, { 'Content-Length': bytes }).end(Buffer.alloc(bytes));
    const closing = server.close();
    let isClosed = false;
    void closing.then(() => (isClosed = true));
    await delay(5 * lingerMs);
    expect([answer.closed, isClosed], 'while nothing is read of it').to.deep.equal([false, false]);
    let taken = 0;
    socket.on('data', (chunk: Buffer) => (taken += chunk.length));
    await once(socket, 'close');
    expect(taken).to.be.greaterThan(bytes);
    await closing;
  });

  it('keeps one whose answer ended between two looks at what is idle: its next request may be on its way', async () => {
    const lingerMs = 60_000;
    await listen(lingerMs);
    const { socket, closed } = await send(request);
    await begun(1);
    // Its head goes before the close, so it does not say that it is the last.
    answers[0]?.writeHead(200, { 'Content-Length': 2 }).flushHeaders();
    mock.timers.enable({ apis: ['setInterval'] });
    const look = async () => {
      mock.timers.tick(lingerMs);
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    };
    try {
      const closing = server.close();
      for (let turn = 0; turn < 10; turn += 1) await nextTurn();
      await look();
      answers[0]?.end('{}');
      await until(() => answers[0]?.closed === true, { deadlineMs: soonMsMax, what: 'the answer to be taken' });
      await look();
      await new Promise((resolve) => socket.write(request, resolve));
      await begun(2);
      answers[1]?.end('{}');
      expect((await closed).match(/\{\}/g)).to.have.length(2);
      mock.timers.reset();
      await closing;
    } finally {
      mock.timers.reset();
    }
  });

  it('answers what came while this process stood still for longer than idle connections are kept', async () => {
    const lingerMs = 1_000;
    await listen(lingerMs);
    const { socket, closed } = await send(request);
    await begun(1);
    answers[0]?.end('{}');
    await once(socket, 'data');
    const closing = server.close();
    // More than it waits for connections that the kernel holds: the time of the idle ones runs by then.
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    await new Promise((resolve) => socket.write(request, resolve));
    standStill(lingerMs + 100);
    await begun(2);
    answers[1]?.end('{}');
    expect((await closed).match(/\{\}/g)).to.have.length(2);
    await closing;
  });
});

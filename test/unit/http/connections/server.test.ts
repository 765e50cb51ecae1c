import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { ApiServer } from '../../../../api/http/connections/server.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { textUntilClosed } from '../../../support/http/raw-exchange.js';
import { resetSocket } from '../../../support/http/reset-socket.js';
import { standStill } from '../../../support/processes/stand-still.js';
import { until } from '../../../support/time/until.js';

const soonMsMax = 5_000;
const read = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const request = 'PATCH / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('the server of the API, of the answers that it has given', () => {
  let server: ApiServer;
  let port: number;
  let answers: WeakRef<ServerResponse>[];
  /** Answers the request that has waited longest. */
  let answerNext: () => void;

  beforeEach(async () => {
    const waiting: ServerResponse[] = [];
    answers = [];
    answerNext = () => waiting.shift()?.end('{}');
    server = createBareServer((_, res) => {
      answers.push(new WeakRef(res));
      waiting.push(res);
    });
    port = await server.listen(0, '127.0.0.1');
  });
  afterEach(async () => {
    await server.close();
  });

  async function expectNoneKept(): Promise<void> {
    const isNoneLeft = async () => {
      await nextTurn();
      collectGarbage();
      return answers.every((answer) => answer.deref() === undefined);
    };
    await until(isNoneLeft, { deadlineMs: soonMsMax, what: 'the answers to be forgotten' });
  }

  /** A connection that has had one answer; `text` tells everything that came since the begin. */
  async function answeredOnce(): Promise<{ socket: Socket; text: () => string }> {
    const socket = connect({ port, host: '127.0.0.1' });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.write(request);
    await until(() => answers.length === 1, { deadlineMs: soonMsMax, what: 'the request' });
    answerNext();
    await until(() => text.endsWith('{}'), { deadlineMs: soonMsMax, what: 'its answer' });
    return { socket, text: () => text };
  }

  it('keeps none while their connection stays open', async () => {
    const { socket } = await answeredOnce();
    await expectNoneKept();
    expect(socket.closed).to.equal(false);
    socket.destroy();
  });

  it('keeps none whose connection broke before they were given, one behind another', async () => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(read + read);
    await until(() => answers.length === 2, { deadlineMs: soonMsMax, what: 'both requests' });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closed;
    answerNext();
    answerNext();
    await expectNoneKept();
  });

  it('has none of a change whose connection broke before its turn came: it is not begun', async () => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(request + request);
    await until(() => answers.length === 1, { deadlineMs: soonMsMax, what: 'the first request' });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closed;
    answerNext();
    await expectNoneKept();
    expect(answers).to.have.length(1);
  });

  it('gives none to a client that closes its side before it, whose request was begun all the same', async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    let isEnded = false;
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.once('end', () => (isEnded = true));
    try {
      socket.end(request);
      await until(() => isEnded, { deadlineMs: soonMsMax, what: 'the server to end its side' });
      expect(answers).to.have.length(1);
      answerNext();
      await expectNoneKept();
      expect(text).to.equal('');
    } finally {
      socket.destroy();
    }
  });

  it('gives one to nobody, and is none the worse, where a tunnel was asked for behind it and the client is gone', async () => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(`${read}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until(() => answers.length === 1, { deadlineMs: soonMsMax, what: 'the request' });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    resetSocket(socket);
    await closed;
    answerNext();
    await expectNoneKept();
  });

  it('goes on with one that it has begun when it is closed, which cannot say any more that it is the last', async () => {
    const begun = createBareServer((_, res) => {
      res.write('{');
      answerNext = () => res.end('}');
    });
    const socket = connect({ port: await begun.listen(0, '127.0.0.1'), host: '127.0.0.1' });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.write(read);
    await until(() => text.includes('{'), { deadlineMs: soonMsMax, what: 'the begin' });
    const closed = begun.close();
    answerNext();
    await closed;
    expect(text).to.match(/^HTTP\/1\.1 200 .*\}\r\n0\r\n\r\n$/s);
  });

  it('says of a 417 too, while it closes, that it is the last of its connection', async () => {
    const { socket, text } = await answeredOnce();
    const closed = server.close();
    socket.write('PATCH / HTTP/1.1\r\nHost: x\r\nExpect: foo\r\nContent-Length: 0\r\n\r\n');
    await closed;
    expect(text().split('{}')[1]).to.match(/^HTTP\/1\.1 417 .*\r\nConnection: close\r\n/s);
  });
});

describe('the server of the API, of a body that turns out to be no HTTP', () => {
  it('tells whoever reads it that no more will come', async () => {
    let [isBegun, isAborted] = [false, false];
    const server = createBareServer((req) => {
      isBegun = true;
      req.once('aborted', () => (isAborted = true)).resume();
    });
    const socket = connect({ port: await server.listen(0, '127.0.0.1'), host: '127.0.0.1' });
    try {
      const closed = textUntilClosed(socket);
      socket.write('PATCH / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
      expect(await closed).to.match(/^HTTP\/1\.1 400 /);
      expect({ isBegun, isAborted }).to.deep.equal({ isBegun: true, isAborted: true });
    } finally {
      socket.destroy();
      await server.close();
    }
  });
});

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

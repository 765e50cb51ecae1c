import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { ApiServer } from '../../../../api/http/connections/server.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { textUntilClosed } from '../../../support/http/raw-exchange.js';
import { resetSocket } from '../../../support/http/reset-socket.js';
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

  it('has none of a change that was refused before its turn came, for its body: it is not begun', async () => {
    const socket = connect({ port, host: '127.0.0.1' });
    const closed = textUntilClosed(socket);
    socket.write(`${request}PATCH / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`);
    await until(() => answers.length === 1, { deadlineMs: soonMsMax, what: 'the first request' });
    answerNext();
    expect(await closed).to.match(/^HTTP\/1\.1 200 .*\{\}HTTP\/1\.1 400 /s);
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

describe('the server of the API, of a request that it has answered before its body came', () => {
  it('takes the body and refuses what is no HTTP behind it, as after any other', async () => {
    const server = createBareServer((_, res) => res.end('{}'));
    const socket = connect({ port: await server.listen(0, '127.0.0.1'), host: '127.0.0.1' });
    const closed = textUntilClosed(socket);
    let text = '';
    socket.on('data', (chunk: string) => (text += chunk));
    try {
      socket.write('PATCH / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n');
      await until(() => text.endsWith('{}'), { deadlineMs: soonMsMax, what: 'its answer' });
      socket.write('{}hello\r\n\r\n');
      expect(await closed).to.match(/^HTTP\/1\.1 200 .*\{\}HTTP\/1\.1 400 /s);
    } finally {
      socket.destroy();
      await server.close();
    }
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

describe('the server of the API, of a head with thousands of fields', () => {
  it('has every one that fits: of a key behind them all, none is lost', async () => {
    let last: string | undefined;
    const server = createBareServer(({ headers }, res) => {
      last = headers.authorization;
      res.end('{}');
    });
    const socket = connect({ port: await server.listen(0, '127.0.0.1'), host: '127.0.0.1' });
    try {
      const closed = textUntilClosed(socket);
      const fields = 'a:\r\n'.repeat(3_000);
      socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}Authorization: Bearer k\r\n\r\n`);
      expect(await closed).to.match(/^HTTP\/1\.1 200 /);
      expect(last).to.equal('Bearer k');
    } finally {
      socket.destroy();
      await server.close();
    }
  });
});

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex, duplexPair, PassThrough } from 'node:stream';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { answerParserFault } from '../../../../api/http/connections/parser-faults.js';
import { keepState, newState } from '../../../../api/http/request-state.js';
import { statusByCode } from '../../../../shared/domain/errors.js';
import type { RequestError } from '../../../../shared/domain/errors.js';
import { cpuMsOf } from '../../../support/time/cpu-time.js';

const mib = 1_048_576;
const allowedMethods = () => 'GET';

function fault(code: string, rawPacket?: string) {
  return Object.assign(new Error(code), {
    code,
    ...(rawPacket !== undefined && { rawPacket: Buffer.from(rawPacket) }),
  });
}

describe("what Node's parser refuses", () => {
  const connections = new Map<Duplex, readonly ServerResponse[]>();
  const refused: number[] = [];
  const onRefused = ({ code }: RequestError) => void refused.push(statusByCode[code]);
  beforeEach(() => void refused.splice(0));
  const deps = { connections, cutShort: new WeakMap<Duplex, IncomingMessage>(), allowedMethods, onRefused };

  it('is looked at once, however long a word it is', () => {
    const socket = new PassThrough();
    socket.resume();
    const error = fault('HPE_INVALID_METHOD', `BREW /${'a'.repeat(200_000)}`);
    expect(cpuMsOf(() => answerParserFault(error, socket, deps))).to.be.below(1_000);
  });

  it('as a made-up verb is 405, in whatever form its address is', async () => {
    for (const target of ['/x', '/x?a=/b?c', '/x#a', 'http://host:1/x?a', 'HTTPS://host/x']) {
      const [socket, client] = duplexPair();
      answerParserFault(fault('HPE_INVALID_METHOD', `BREW ${target} HTTP/1.1\r\n`), socket, deps);
      expect(String(await client.toArray())).to.match(/^HTTP\/1\.1 405 /);
      expect(refused.splice(0).at(-1)).to.equal(405);
    }
  });

  it('as a made-up verb is 405 behind empty lines too, which Node skips before a request', async () => {
    for (const blank of ['\r\n', '\n', '\r\n\r\n']) {
      const [socket, client] = duplexPair();
      answerParserFault(fault('HPE_INVALID_METHOD', `${blank}BREW /x HTTP/1.1\r\n`), socket, deps);
      expect(String(await client.toArray())).to.match(/^HTTP\/1\.1 405 /);
    }
  });

  it('as a made-up verb is 405 in HTTP/1.0 too', async () => {
    const [socket, client] = duplexPair();
    answerParserFault(fault('HPE_INVALID_METHOD', 'BREW /x HTTP/1.0\r\n'), socket, deps);
    expect(String(await client.toArray())).to.match(/^HTTP\/1\.1 405 /);
  });

  it('though the path has its verb is 400: at fault is the end of its line, under the same codes', async () => {
    const [socket, client] = duplexPair();
    answerParserFault(fault('HPE_INVALID_VERSION', 'GET /x HTTP/1.1\nHost: x\n\n'), socket, deps);
    expect(String(await client.toArray())).to.match(/^HTTP\/1\.1 400 /);
  });

  it('is answered with the time, as every request is', async () => {
    const [socket, client] = duplexPair();
    answerParserFault(fault('HPE_INVALID_CONSTANT'), socket, deps);
    expect(String(await client.toArray())).to.match(/\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/);
  });

  it('is told to begin its target with / where it does not, and not only to escape it', async () => {
    const [socket, client] = duplexPair();
    answerParserFault(fault('HPE_INVALID_URL', 'GET raw-materials HTTP/1.1\r\n'), socket, deps);
    expect(String(await client.toArray())).to.contain('must begin with /');
  });

  it('is answered as the problem that its head asks for', async () => {
    const head = 'BREW /x HTTP/1.1\r\nHost: x\r\naccept: application/problem+json\r\n\r\n';
    const [socket, client] = duplexPair();
    answerParserFault(fault('HPE_INVALID_METHOD', head), socket, deps);
    expect(String(await client.toArray())).to.match(/\r\nContent-Type: application\/problem\+json/);
  });

  it('and whose client takes no answer keeps its connection for ten seconds and no longer', () => {
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    try {
      answerParserFault(fault('HPE_INVALID_CONSTANT'), socket, deps);
      mock.timers.tick(9_999);
      expect(socket.destroyed).to.equal(false);
      mock.timers.tick(1);
      expect(socket.destroyed).to.equal(true);
    } finally {
      mock.timers.reset();
    }
  });

  it('is refused once: what comes later on a connection that is being ended does not take its answer away', () => {
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    answerParserFault(fault('HPE_INVALID_CONSTANT'), socket, deps);
    answerParserFault(fault('ERR_HTTP_REQUEST_TIMEOUT'), socket, deps);
    expect(socket.destroyed).to.equal(false);
    expect(refused).to.deep.equal([400]);
    socket.destroy();
  });

  it('and whose client sends on all the same is heard out for 16 MiB and no longer', async () => {
    const [socket, client] = duplexPair();
    client.resume();
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    try {
      answerParserFault(fault('HPE_INVALID_CONSTANT'), socket, deps);
      await nextTurn();
      for (let sent = 0; sent < 16; sent += 1) await new Promise((resolve) => client.write(Buffer.alloc(mib), resolve));
      await nextTurn();
      expect(socket.destroyed).to.equal(false);
      client.write('x');
      await nextTurn();
      expect(socket.destroyed).to.equal(true);
    } finally {
      mock.timers.reset();
      socket.destroy();
    }
  });

  describe('since it has not arrived whole in time', () => {
    /** An answer that is open, and the status that it was given. */
    function answer(method: string, complete: boolean) {
      const given: { status?: number; headers?: Record<string, string> } = {};
      const req = { method, complete, headers: {}, socket: new PassThrough(), emit: () => true };
      const res = {
        req,
        headersSent: false,
        writeHead: (status: number, headers: Record<string, string>) => Object.assign(given, { status, headers }),
        end: () => undefined,
      };
      return { res: res as unknown as ServerResponse, given };
    }
    const timeOut = (...open: ServerResponse[]) => {
      const socket = new PassThrough();
      connections.set(socket, open);
      answerParserFault(fault('ERR_HTTP_REQUEST_TIMEOUT'), socket, deps);
    };

    it('is 408', () => {
      const late = answer('PATCH', false);
      timeOut(late.res);
      expect(late.given.status).to.equal(408);
      expect(refused, 'counted by the app').to.deep.equal([]);
    });

    it('has the id and the headers that the app has for it', () => {
      const late = answer('PATCH', false);
      keepState(late.res, { ...newState('the-id'), headers: { RateLimit: '"shop";r=1;t=1' } });
      timeOut(late.res);
      expect(late.given.headers).to.include({ 'X-Request-Id': 'the-id', RateLimit: '"shop";r=1;t=1' });
    });

    it('is 408 behind reads, with which it was begun', () => {
      const late = answer('GET', false);
      timeOut(answer('GET', true).res, late.res);
      expect(late.given.status).to.equal(408);
    });

    it('is 503 where it was not begun, and so not read, since it waits for a change before it', () => {
      const late = answer('PATCH', false);
      timeOut(answer('PATCH', true).res, late.res);
      expect(late.given.status).to.equal(503);
      expect(refused, 'which never has it').to.deep.equal([503]);
    });
  });
});

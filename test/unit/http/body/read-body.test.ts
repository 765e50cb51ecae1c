import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import Koa from 'koa';
import { createBodyMemory } from '../../../../api/http/body/body-memory.js';
import type { BodyMemory } from '../../../../api/http/body/body-memory.js';
import { createInflate } from '../../../../api/http/body/inflate.js';
import { bodyBytesMax, leaveBodyMemory, readBody } from '../../../../api/http/body/read-body.js';
import type { ApiServer } from '../../../../api/http/connections/server.js';
import type { RequestState } from '../../../../api/http/request-state.js';
import type { Result } from '../../../../shared/domain/errors.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { until } from '../../../support/time/until.js';

const inflate = createInflate();
const soonMsMax = 5_000;
const head = 'PATCH / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
const gzipped = 'Content-Encoding: gzip\r\n';
const part = gzipSync('{"updates":[]}').subarray(0, 12);
const chunk = Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);

const chunkedBody = (text: string) =>
  `Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

describe('the place of a body', () => {
  it('is given back where its request ends in a fault of ours: others have it, and no shop runs out of them', async () => {
    const memory = createBodyMemory({ processBytesMax: 1, shopBytesMax: 1, waitMsMax: 1 });
    const fault = new Error('a fault of ours');
    const state = { bodyPlace: await memory.enter(1, 1) } as RequestState;
    const ctx = { state } as Parameters<typeof leaveBodyMemory>[0];
    const ended: unknown = await Promise.resolve(leaveBodyMemory(ctx, () => Promise.reject(fault))).catch(
      (error: unknown) => error,
    );
    expect(ended).to.equal(fault);
    expect(await memory.enter(1, 1)).not.to.equal(undefined);
  });
});

describe('a body as it comes in', () => {
  let server: ApiServer;
  let socket: Socket;
  let memory: BodyMemory;
  let hasArrived: boolean;
  let read: Result<unknown> | undefined;

  beforeEach(async () => {
    memory = createBodyMemory({ processBytesMax: bodyBytesMax, shopBytesMax: bodyBytesMax, waitMsMax: 1 });
    hasArrived = false;
    read = undefined;
    const app = new Koa<RequestState>();
    app.use(async (ctx) => {
      ctx.respond = false;
      hasArrived = true;
      // In place of the key and the limit, which are asked for before anybody reads.
      await nextTurn();
      ctx.state.caller = { shop: { id: 1 } } as RequestState['caller'];
      read = await readBody(ctx, { memory, inflate });
    });
    server = createBareServer(app.callback());
    socket = connect({ port: await server.listen(0, '127.0.0.1'), host: '127.0.0.1' });
    socket.on('error', () => undefined).resume();
  });
  afterEach(async () => {
    socket.destroy();
    await server.close();
  });

  const soon = (what: string) => ({ deadlineMs: soonMsMax, what });
  async function expectGivenUp(): Promise<void> {
    await until(() => read !== undefined, soon('the reading to end'));
    expect(read).to.have.nested.property('error.code', 'INVALID_INPUT');
  }

  for (const [kind, header, begin] of [
    ['plain', '', '1\r\n{\r\n'],
    ['gzipped', gzipped, chunk],
  ] as const) {
    const begun = Buffer.concat([Buffer.from(`${head}${header}\r\n`), Buffer.from(begin)]);

    it(`that never comes to its end, ${kind}, as its client has gone: nobody waits for it`, async () => {
      socket.write(begun);
      await until(() => hasArrived, soon('the request'));
      socket.destroy();
      await expectGivenUp();
    });

    it(`that never comes to its end, ${kind}, as it is no HTTP from some place on: nobody waits for it`, async () => {
      socket.write(begun);
      await until(() => hasArrived, soon('the request'));
      socket.write('zz\r\n');
      await expectGivenUp();
    });

    it(`that never comes to its end, ${kind}, as it is no HTTP before it is read: nobody waits for it`, async () => {
      socket.write(Buffer.concat([begun, Buffer.from('zz\r\n')]));
      await expectGivenUp();
    });
  }

  it('that is compressed asks for the place of the largest, however small it says it is', async () => {
    await memory.enter(1, bodyBytesMax);
    const small = gzipSync('{}');
    const sized = head.replace('Transfer-Encoding: chunked', `Content-Length: ${small.length}`);
    socket.write(Buffer.concat([Buffer.from(`${sized}${gzipped}\r\n`), small]));
    await until(() => read !== undefined, soon('the reading to end'));
    expect(read).to.have.nested.property('error.code', 'SERVICE_UNAVAILABLE');
  });

  it('that there is none of asks for no place', async () => {
    await memory.enter(1, bodyBytesMax);
    socket.write(`${head.replace('Transfer-Encoding: chunked\r\n', '')}\r\n`);
    await until(() => read !== undefined, soon('the reading to end'));
    expect(read).to.have.nested.property('error.code', 'INVALID_INPUT');
  });

  for (const [how, sent] of [
    ['says how large it is', (text: string) => `Content-Length: ${text.length}\r\n\r\n${text}`],
    ['says that when it is over', chunkedBody],
  ] as const) {
    it(`that ${how} takes so much and no more, once it is read`, async () => {
      const text = `{"x":"${'x'.repeat(20_000)}"}`;
      socket.write(head.replace('Transfer-Encoding: chunked\r\n', '') + sent(text));
      await until(() => read !== undefined, soon('the reading to end'));
      expect(read).to.have.property('ok', true);
      expect(await memory.enter(1, bodyBytesMax - text.length + 1), 'more than it leaves').to.equal(undefined);
      expect(await memory.enter(1, bodyBytesMax - text.length), 'what it leaves').not.to.equal(undefined);
    });
  }

  it('that says how large it is waits for no more than that', async () => {
    const text = `{"x":"${'x'.repeat(20_000)}"}`;
    await memory.enter(1, bodyBytesMax - text.length);
    socket.write(`${head.replace('Transfer-Encoding: chunked', `Content-Length: ${text.length}`)}\r\n${text}`);
    await until(() => read !== undefined, soon('the reading to end'));
    expect(read).to.have.property('ok', true);
  });

  it('that did not say how small it is takes no place any more once that is seen', async () => {
    socket.write(`${head}\r\n2\r\n{}\r\n0\r\n\r\n`);
    await until(() => read !== undefined, soon('the reading to end'));
    expect(read).to.deep.equal({ ok: true, data: {} });
    expect(await memory.enter(1, bodyBytesMax), 'room for the largest body').not.to.equal(undefined);
  });
});

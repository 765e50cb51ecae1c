import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { PlatformEvent } from '../../../shared/platform/commerce-platform.js';
import { postGraphql } from '../../../shared/platform/shopify/post-graphql.js';
import type { ShopifyLimits } from '../../../shared/platform/shopify/shopify-client.js';
import { createShopifyPlatform } from '../../../shared/platform/shopify/shopify-platform.js';
import { tickMs } from '../../../shared/runtime/running-wait.js';
import { standStill } from '../../support/processes/stand-still.js';
import { until } from '../../support/time/until.js';
import { createFakeClock, levelsReply, shop } from './fixtures.js';

describe('a platform that is there but does not answer', () => {
  let server: Server;
  let respond: (response: ServerResponse) => void;

  before((done) => {
    server = createServer((_request, response) => {
      respond(response);
    }).listen(0, '127.0.0.1', done);
  });
  after((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });

  /** The answer, and what failed on the way. By requests one cannot count: one that is given up may never arrive. */
  async function read(limits: Partial<ShopifyLimits>) {
    const domain = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const failed: string[] = [];
    const report = (event: PlatformEvent) => failed.push(event.kind === 'attempt-failed' ? event.error : event.kind);
    const clock = createFakeClock();
    const platform = createShopifyPlatform({ allowLoopback: true, clock, limits, report });
    return { answer: await platform.readLevels({ ...shop, domain }, '42'), failed };
  }

  it('silence ends in timeout after three attempts', async () => {
    respond = () => undefined;
    const { answer, failed } = await read({ attemptTimeoutMs: 20 });
    expect(answer).to.deep.equal({ ok: false, error: 'timeout' });
    expect(failed).to.deep.equal(['timeout', 'timeout', 'timeout']);
  });

  it('silence opens the circuit, so that nobody waits for it again and again', async () => {
    respond = () => undefined;
    const { failed } = await read({ attemptTimeoutMs: 20, failuresToOpen: 2 });
    expect(failed).to.deep.equal(['timeout', 'circuit-opened', 'timeout']);
  });

  it('is not blamed for a time in which this process stood still', async () => {
    respond = (response) => {
      response.end(JSON.stringify(levelsReply([{ locationId: '1', quantity: 1 }])));
      // By then the attempt's time is long over, and the answer lies unread in its socket.
      standStill(1_500);
    };
    const { answer, failed } = await read({ attemptTimeoutMs: 1_000 });
    expect(failed).to.deep.equal([]);
    expect(answer).to.have.property('ok', true);
  });

  it('an attempt ends with the whole call, whatever time an attempt may have', async () => {
    respond = () => undefined;
    const { answer, failed } = await read({ attemptTimeoutMs: 600_000, deadlineMs: 20 });
    expect(answer).to.deep.equal({ ok: false, error: 'timeout' });
    expect(failed).to.deep.equal(['timeout']);
  });

  it('a body that never ends in time is a timeout too', async () => {
    respond = (response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":');
    const { answer, failed } = await read({ attemptTimeoutMs: 50 });
    expect(answer).to.deep.equal({ ok: false, error: 'timeout' });
    expect(failed).to.deep.equal(['timeout', 'timeout', 'timeout']);
  });

  it('a body without end is cut off at the limit, not read until the time is over', async () => {
    let closed = false;
    respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = Buffer.alloc(65_536, ' ');
      const pour = (): void => {
        while (!closed && response.write(chunk));
      };
      response.on('drain', pour).on('close', () => {
        closed = true;
      });
      pour();
    };
    const { answer, failed } = await read({ attemptTimeoutMs: 60_000, bodyBytesMax: 1_048_576 });
    expect(answer).to.deep.equal({ ok: false, error: 'invalid-response' });
    expect(failed).to.deep.equal(['invalid-response']);
  });

  it('is let go of together with the body of a refusal, which nobody reads', async () => {
    let closed = false;
    respond = (response) => {
      response.on('close', () => (closed = true));
      response.writeHead(403, { 'content-type': 'text/html' }).write('<html>');
    };
    const { failed } = await read({ attemptTimeoutMs: 60_000 });
    expect(failed).to.deep.equal(['unauthorized']);
    await until(() => closed, { deadlineMs: 10_000, what: 'the connection to be given up' });
  });
});

describe('an attempt that is over', () => {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  afterEach(() => Object.assign(globalThis, { setTimeout: set, clearTimeout: clear }));

  it('leaves no timer, and nothing with the signal, which a worker has for its life', async () => {
    const running = new Set<unknown>();
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms?: number) => {
        const timer = set(run, ms);
        // Unlike any of fetch's own.
        if (ms === tickMs) running.add(timer);
        return timer;
      },
      clearTimeout: (timer?: NodeJS.Timeout) => {
        running.delete(timer);
        clear(timer);
      },
    });
    const { signal } = new AbortController();
    const query = { accessToken: 'token-of-the-shop', document: 'query', variables: {} };
    const asked = { ...query, bodyBytesMax: 1_000, hearVersion: () => undefined };
    const attempt = postGraphql({ ...asked, endpoint: 'http://127.0.0.1:1/', timeoutMs: 60_000, signal });
    expect([running.size, getEventListeners(signal, 'abort').length]).to.deep.equal([1, 1]);
    expect(await attempt).to.include({ ok: false, error: 'unavailable' });
    expect([running.size, getEventListeners(signal, 'abort').length]).to.deep.equal([0, 0]);
  });
});

import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createShopifyPlatform } from '../../../shared/platform/shopify/shopify-platform.js';
import { createFakeClock, shop } from './fixtures.js';

describe('a platform that is there but does not answer', () => {
  let server: Server;
  let requests = 0;
  let respond: (response: ServerResponse) => void;

  before((done) => {
    server = createServer((_request, response) => {
      requests += 1;
      respond(response);
    }).listen(0, '127.0.0.1', done);
  });
  beforeEach(() => {
    requests = 0;
  });
  after((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });

  async function read(limits: { attemptTimeoutMs: number; bodyBytesMax?: number }) {
    const domain = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const platform = createShopifyPlatform({ allowLoopback: true, clock: createFakeClock(), limits });
    return platform.readLevels({ ...shop, domain }, '42');
  }

  it('silence ends in timeout after three attempts', async () => {
    respond = () => undefined;
    expect(await read({ attemptTimeoutMs: 20 })).to.deep.equal({ ok: false, error: 'timeout' });
    expect(requests).to.equal(3);
  });

  it('a body that never ends in time is a timeout too', async () => {
    respond = (response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":');
    expect(await read({ attemptTimeoutMs: 50 })).to.deep.equal({ ok: false, error: 'timeout' });
    expect(requests).to.equal(3);
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
    const result = await read({ attemptTimeoutMs: 30_000, bodyBytesMax: 1_048_576 });
    expect(result).to.deep.equal({ ok: false, error: 'invalid-response' });
    expect(requests).to.equal(1);
  });
});

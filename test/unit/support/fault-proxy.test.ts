import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { expect } from 'chai';
import { startFaultProxy } from '../../support/faults/fault-proxy.js';
import type { FaultProxy } from '../../support/faults/fault-proxy.js';
import { resetSocket } from '../../support/http/reset-socket.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 5_000;
/** Long enough for bytes that are let through to arrive; a test that waits for nothing to come waits this long. */
const quietMs = 150;

/** One end of a connection, and all that it has seen. */
interface End {
  socket: Socket;
  text: () => string;
  ended: () => boolean;
  error: () => string | undefined;
}

describe('the fault proxy', () => {
  let server: Server;
  let proxy: FaultProxy;
  let served: End[];
  beforeEach(async () => {
    served = [];
    server = createServer({ allowHalfOpen: true }, (socket) => served.push(watch(socket)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    proxy = await startFaultProxy({ port: (server.address() as AddressInfo).port });
  });
  afterEach(async () => {
    await proxy.close();
    for (const { socket } of served) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('passes bytes and ends both ways while nothing is wrong', async () => {
    const [client, end] = await pair();
    const long = 'x'.repeat(3_000_000);
    client.socket.write(long);
    end.socket.end('pong');
    await until(() => end.text() === long && client.text() === 'pong' && client.ended(), {
      deadlineMs: soonMsMax,
      what: 'both texts',
    });
    client.socket.end();
    await until(() => end.ended() && proxy.open() === 0, { deadlineMs: soonMsMax, what: 'the end' });
    expect(proxy.through('redis://u:p@example:1/2')).to.equal(`redis://u:p@127.0.0.1:${String(proxy.port)}/2`);
  });

  for (const held of ['toServer', 'toClient', undefined] as const) {
    it(`holds what goes ${held ?? 'either way'}, and lets it through in its order when healed`, async () => {
      const [client, end] = await pair();
      await proxy.inject({ kind: 'hold', ...(held && { direction: held }) });
      client.socket.write('ping ');
      end.socket.write('pong ');
      const wanted = { atServer: held === 'toClient' ? 'ping ' : '', atClient: held === 'toServer' ? 'pong ' : '' };
      const isThere = () => end.text() === wanted.atServer && client.text() === wanted.atClient && proxy.struck() > 0;
      await until(isThere, { deadlineMs: soonMsMax, what: 'what is let through, and the hold of the rest' });
      await passes(quietMs);
      expect({ atServer: end.text(), atClient: client.text() }).to.deep.equal(wanted);
      client.socket.end('last');
      end.socket.end('last');
      await proxy.heal();
      await both(client, end, 'pong last', 'ping last');
    });
  }

  it('a held link hides that the other end is gone, and takes no new connection to the server', async () => {
    const [client, end] = await pair();
    await proxy.inject({ kind: 'hold' });
    resetSocket(end.socket);
    const late = watch(connect(proxy.port, '127.0.0.1'));
    late.socket.write('late');
    await passes(quietMs);
    expect([client.ended(), client.error(), served.length]).to.deep.equal([false, undefined, 1]);
    await proxy.heal();
    await until(() => client.error() === 'ECONNRESET' && served[1]?.text() === 'late', {
      deadlineMs: soonMsMax,
      what: 'the reset, and the late connection',
    });
    late.socket.destroy();
  });

  it('delays and throttles, and does neither once it is healed', async () => {
    const [client, end] = await pair();
    await proxy.inject({ kind: 'slow', delayMs: 200, bytesPerSecond: 1_000, direction: 'toServer' });
    const sentMs = performance.now();
    client.socket.write('x'.repeat(300));
    end.socket.write('pong');
    await until(() => end.text().length === 300, { deadlineMs: soonMsMax, what: 'what was slow' });
    // 200 ms, and then 300 bytes in slices of 50: the last of them 5 pauses of 50 ms later.
    expect(performance.now() - sentMs).to.be.at.least(440);
    expect(client.text()).to.equal('pong');
    client.socket.write('y'.repeat(1_000_000));
    await passes(quietMs);
    await proxy.heal();
    await until(() => end.text().length === 1_000_300, { deadlineMs: soonMsMax, what: 'the rest' });
  });

  it('cuts a connection by a reset after so many bytes, and only one of them', async () => {
    const [one, two] = [await pair(), await pair()];
    await proxy.inject({ kind: 'reset-after', direction: 'toServer', bytes: 5 });
    one[0].socket.write('123');
    await until(() => one[1].text() === '123', { deadlineMs: soonMsMax, what: 'what came before' });
    one[0].socket.write('456789');
    await until(() => isCut(one[0]) && isCut(one[1]), { deadlineMs: soonMsMax, what: 'the cut at both ends' });
    expect(one[1].text()).to.be.oneOf(['123', '12345']);
    two[0].socket.write('123456789');
    await until(() => two[1].text() === '123456789', { deadlineMs: soonMsMax, what: 'the other connection' });
    expect(proxy.struck()).to.equal(1);
  });

  it('cuts in the middle of a message, also where it comes in pieces', async () => {
    const pattern = Buffer.from('COMMIT\0');
    for (const pieces of [['a COMMIT\0 b'], ['a COM', 'MIT\0 b'], ['a COMMIT', '\0 b']]) {
      const [client, end] = await pair();
      await proxy.inject({ kind: 'reset-at', direction: 'toClient', pattern });
      for (const piece of pieces) {
        if (!end.socket.destroyed) end.socket.write(piece);
        await until(() => client.text().endsWith(piece) || isCut(client), {
          deadlineMs: soonMsMax,
          what: piece,
        });
      }
      expect(proxy.struck()).to.equal(1);
      expect(client.text()).to.match(/^a /).and.not.contain('COMMIT\0');
    }
  });

  it('loses the server without a word: the client hears of it at its first byte after the healing', async () => {
    const [client, end] = await pair();
    await proxy.inject({ kind: 'half-open', gone: 'server' });
    await until(() => end.error() === 'ECONNRESET', { deadlineMs: soonMsMax, what: 'the server to be rid of it' });
    client.socket.write('into the void');
    const [other, otherEnd] = await pair();
    other.socket.write('new');
    await until(() => otherEnd.text() === 'new', { deadlineMs: soonMsMax, what: 'a new connection' });
    await proxy.heal();
    await passes(quietMs);
    expect([client.ended(), client.error(), end.text()]).to.deep.equal([false, undefined, '']);
    client.socket.write('again');
    await until(() => client.error() === 'ECONNRESET', { deadlineMs: soonMsMax, what: 'the reset' });
  });

  it('loses the client without a word: the server goes on until the link is healed', async () => {
    const [client, end] = await pair();
    await proxy.inject({ kind: 'half-open', gone: 'client' });
    await until(() => client.error() === 'ECONNRESET', { deadlineMs: soonMsMax, what: 'the client to be rid of it' });
    end.socket.write('into the void');
    await passes(quietMs);
    expect([end.ended(), end.error()]).to.deep.equal([false, undefined]);
    await proxy.heal();
    await until(() => end.error() === 'ECONNRESET', { deadlineMs: soonMsMax, what: 'the reset' });
  });

  it('resets all connections at once; refusing, it takes none until it is healed', async () => {
    for (const kind of ['reset', 'refuse'] as const) {
      const [client, end] = await pair();
      await proxy.inject({ kind });
      await until(() => client.error() === 'ECONNRESET' && end.error() === 'ECONNRESET', {
        deadlineMs: soonMsMax,
        what: `the ${kind}`,
      });
      const servedBefore = served.length;
      const late = watch(connect(proxy.port, '127.0.0.1'));
      // At the server, not only at the proxy: else the next pair could take the late connection's end for its own.
      await until(() => late.error() === 'ECONNREFUSED' || served.length > servedBefore, {
        deadlineMs: soonMsMax,
        what: 'an answer to a new connection',
      });
      expect(late.error()).to.equal(kind === 'refuse' ? 'ECONNREFUSED' : undefined);
      late.socket.destroy();
      await proxy.heal();
      const [again, againEnd] = await pair();
      again.socket.write('again');
      await until(() => againEnd.text() === 'again', { deadlineMs: soonMsMax, what: 'the healed link' });
    }
  });

  /** A connection through the proxy, known to stand at both ends. */
  async function pair(): Promise<[client: End, end: End]> {
    const before = served.length;
    const client = watch(connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true }));
    const end = await until(() => served[before], { deadlineMs: soonMsMax, what: 'the connection' });
    return [client, end];
  }
});

function watch(socket: Socket): End {
  let text = '';
  let error: string | undefined;
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  socket.on('error', ({ code }: NodeJS.ErrnoException) => (error = code));
  return { socket, text: () => text, ended: () => socket.readableEnded, error: () => error };
}

/** To libuv, a reset behind bytes that were not read yet is an end without an error. */
function isCut({ ended, error }: End): boolean {
  return ended() || error() === 'ECONNRESET';
}

async function both(client: End, end: End, clientText: string, endText: string): Promise<void> {
  await until(() => client.text() === clientText && end.text() === endText && client.ended() && end.ended(), {
    deadlineMs: soonMsMax,
    what: () => `both ends; so far ${client.text()} and ${end.text()}`,
  });
}

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

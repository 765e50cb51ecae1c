import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { parseAnswer } from '../../support/http/raw-exchange.js';
import { expectData } from '../../support/http/reply.js';
import { until } from '../../support/time/until.js';

const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const soonMsMax = 5_000;

interface Client {
  socket: Socket;
  /** All that came so far. */
  text: () => string;
  isClosed: () => boolean;
}

function openClient(port: number): Client {
  const socket = connect({ port, host: '127.0.0.1' });
  let text = '';
  let isClosed = false;
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  socket.once('close', () => (isClosed = true));
  return { socket, text: () => text, isClosed: () => isClosed };
}

describe('every connection', () => {
  const http = useHttpService();
  const soon = (what: string) => ({ deadlineMs: soonMsMax, what });

  it('beyond MAX_CONNECTIONS is closed without a word, and those that are open go on', async () => {
    await http.withApi({ MAX_CONNECTIONS: '3' }, async ({ port }) => {
      const clients = [openClient(port), openClient(port), openClient(port)];
      try {
        for (const { socket } of clients) socket.write(health);
        await until(() => clients.every(({ text }) => text().includes('"ok"')), soon('three answers'));
        const fourth = openClient(port);
        fourth.socket.write(health);
        await until(fourth.isClosed, soon('the fourth to be closed'));
        expect(fourth.text()).to.equal('');
        for (const { socket } of clients) socket.write(health);
        await until(() => clients.every(({ text }) => text().split('"ok"').length === 3), soon('three answers more'));
      } finally {
        for (const { socket } of clients) socket.destroy();
      }
      const served = await until(async () => {
        const text = await raw(port, health);
        return text === '' ? undefined : text;
      }, soon('a place to be free'));
      expectData(parseAnswer(served), 'status');
    });
  });

  it('is kept open behind an answer, and closed once it is idle for KEEP_ALIVE_TIMEOUT_MS', async () => {
    const kept = openClient(http.port);
    kept.socket.write(health);
    await until(() => kept.text().includes('"ok"'), soon('an answer'));
    kept.socket.write(health);
    await until(() => kept.text().split('"ok"').length === 3, soon('an answer on the same connection'));
    kept.socket.destroy();

    const keepAliveMs = 200;
    await http.withApi({ KEEP_ALIVE_TIMEOUT_MS: String(keepAliveMs) }, async ({ port }) => {
      // No second request here: on a busy machine it would come too late for a connection that is kept so shortly.
      const idle = openClient(port);
      const sentAtMs = performance.now();
      idle.socket.write(health);
      await until(idle.isClosed, soon('the idle connection to be closed'));
      expect(idle.text()).to.contain('"ok"');
      expect(performance.now() - sentAtMs, 'and not before').to.be.at.least(keepAliveMs);
    });
  });
});

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { endDraining } from '../../../../api/http/connections/end-draining.js';
import { resetSocket } from '../../../support/http/reset-socket.js';
import { standStill } from '../../../support/processes/stand-still.js';
import { timerCount } from '../../../support/time/timer-count.js';
import { until } from '../../../support/time/until.js';

const soonMsMax = 10_000;

describe('a connection that is ended while its client sends', () => {
  let server: Server;
  let client: Socket;
  let ended: Socket;
  let text: string;
  beforeEach(async () => {
    server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    [ended] = await accepted;
    text = '';
    client.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  });
  afterEach(() => {
    client.destroy();
    server.close();
  });

  it('is closed once the client has had the answer and sends nothing for a second', async () => {
    endDraining(ended, 'refused');
    await until(() => ended.destroyed, { deadlineMs: soonMsMax, what: 'the end' });
    expect(text).to.equal('refused');
  });

  it('leaves no timer behind, which would keep its process open', async () => {
    // Mocha begins its own timer behind the first turn of a test.
    await nextTurn();
    const before = timerCount();
    endDraining(ended, 'refused');
    client.end();
    await once(ended, 'close');
    expect(timerCount()).to.equal(before);
  });

  it('is nobody’s fault where the client is gone meanwhile', async () => {
    endDraining(ended, 'refused');
    await until(() => text === 'refused', { deadlineMs: soonMsMax, what: 'the answer' });
    const closed = new Promise((resolve) => ended.once('close', resolve));
    resetSocket(client);
    await closed;
  });

  it('stays open for more than a quiet second to a client that has yet to take the most of its answer', async () => {
    const characters = 32 * 1_048_576;
    client.pause();
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      endDraining(ended, 'x'.repeat(characters));
      mock.timers.tick(1_000);
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      expect(ended.destroyed).to.equal(false);
      client.resume();
      await until(() => text.length === characters, { deadlineMs: soonMsMax, what: 'the answer' });
    } finally {
      mock.timers.reset();
    }
  });

  it('is read on where this process stood still, and what came meanwhile lies in the socket', async () => {
    endDraining(ended, 'refused');
    await until(() => text === 'refused', { deadlineMs: soonMsMax, what: 'the answer' });
    const taken = ended.bytesRead;
    // So that timers come next.
    await nextTurn();
    // Goes to the kernel at once, and nothing is read in the same turn. Then longer than a client may be quiet.
    client.write('more');
    standStill(1_100);
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(ended.bytesRead).to.equal(taken + 4);
    expect(ended.destroyed).to.equal(false);
    client.end();
    await once(client, 'close');
  });
});

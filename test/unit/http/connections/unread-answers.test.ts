import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { mock } from 'node:test';
import { expect } from 'chai';
import type { ApiServer } from '../../../../api/http/connections/server.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { until } from '../../../support/time/until.js';

/** More than the kernel takes for a client that does not read. */
const large = 'x'.repeat(32 * 1_048_576);
const soonMsMax = 10_000;
/** As often as is looked. */
const answerMs = 1_000;

describe('an answer that its client does not read', () => {
  let server: ApiServer;
  let port: number;
  let answers: ServerResponse[];

  beforeEach(async () => {
    answers = [];
    // When it is looked what was read is for the test to say: how soon a client reads anything is not.
    mock.timers.enable({ apis: ['setInterval'] });
    server = createBareServer((_, res) => answers.push(res), { timeouts: { answerMs, keepAliveMs: 60_000 } });
    port = await server.listen(0, '127.0.0.1');
  });
  afterEach(async () => {
    mock.timers.reset();
    await server.close();
  });

  async function sendOne() {
    const socket = connect({ port, host: '127.0.0.1' }).pause();
    socket.on('error', () => undefined);
    const count = answers.length;
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = await until(() => answers[count], { deadlineMs: soonMsMax, what: 'the request' });
    return { socket, answer };
  }

  it('is given up with its connection; one that is read, and one that is still awaited, are not', async () => {
    const [unread, read, awaited] = [await sendOne(), await sendOne(), await sendOne()];
    try {
      unread.answer.end(large);
      read.answer.end(large);
      let readBytes = 0;
      read.socket.on('data', (chunk) => (readBytes += chunk.length)).resume();
      let late = '';
      awaited.socket.on('data', (chunk) => (late += chunk.toString())).resume();
      const isRead = () => readBytes > large.length && read.answer.writableFinished;
      await until(isRead, { deadlineMs: soonMsMax, what: 'the other to be read' });
      mock.timers.tick(answerMs);
      expect(unread.answer.req.socket.destroyed, 'before its time is over').to.equal(false);
      mock.timers.tick(answerMs);
      await until(() => unread.answer.destroyed, { deadlineMs: soonMsMax, what: 'the unread answer to be given up' });
      awaited.answer.end('late');
      await until(() => late.endsWith('late'), { deadlineMs: soonMsMax, what: 'the late answer' });
    } finally {
      for (const { socket } of [unread, read, awaited]) socket.destroy();
    }
  });
});

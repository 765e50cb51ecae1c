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
    // When it is looked what was taken is for the test to say: how soon a client takes anything is not.
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
    const [untaken, taken, awaited] = [await sendOne(), await sendOne(), await sendOne()];
    try {
      untaken.answer.end(large);
      taken.answer.end(large);
      let takenBytes = 0;
      taken.socket.on('data', (chunk) => (takenBytes += chunk.length)).resume();
      let late = '';
      awaited.socket.on('data', (chunk) => (late += chunk.toString())).resume();
      const isTaken = () => takenBytes > large.length && taken.answer.writableFinished;
      await until(isTaken, { deadlineMs: soonMsMax, what: 'the other to be taken' });
      mock.timers.tick(answerMs);
      expect(untaken.answer.req.socket.destroyed, 'before its time is over').to.equal(false);
      mock.timers.tick(answerMs);
      await until(() => untaken.answer.destroyed, { deadlineMs: soonMsMax, what: 'the untaken answer to be given up' });
      awaited.answer.end('late');
      await until(() => late.endsWith('late'), { deadlineMs: soonMsMax, what: 'the late answer' });
    } finally {
      for (const { socket } of [untaken, taken, awaited]) socket.destroy();
    }
  });
});

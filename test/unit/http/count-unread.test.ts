import { once } from 'node:events';
import { Agent, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import type { ApiServer } from '../../../api/http/connections/server.js';
import { countUnread } from '../../../api/http/count-unread.js';
import { createBareServer } from '../../support/http/bare-server.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 5_000;

describe('the bytes of answers that clients have not read', () => {
  /** More than the kernel takes for a client that does not read. */
  const largest = 32 * 1_048_576;
  let server: ApiServer;
  let port: number;
  let agent: Agent;
  /** Of each answer that was counted, what it adds now. */
  let counts: number[];
  /** Of the answers that are to be given. */
  let sizes: number[];

  beforeEach(async () => {
    counts = [];
    const addUnread = (_: number, added: number) => {
      const place = counts.push(added) - 1;
      return () => {
        counts[place] = (counts[place] ?? 0) - added;
      };
    };
    const count = countUnread({ addUnread });
    server = createBareServer((req, res) => {
      const ctx = { req, res, state: { caller: { shop: { id: 1 } } } } as unknown as Parameters<typeof count>[0];
      return count(ctx, () => Promise.resolve(res.end(Buffer.alloc(sizes.shift() ?? 0))));
    });
    port = await server.listen(0, '127.0.0.1');
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
  });
  afterEach(async () => {
    agent.destroy();
    await server.close();
  });

  const none = () => counts.every((count) => count === 0);

  it('are taken off once, when the answer has left, though its connection closes later', async () => {
    sizes = [largest, largest, largest];
    while (sizes.length > 0) {
      const [answer] = (await once(get({ port, host: '127.0.0.1', agent }), 'response')) as [IncomingMessage];
      await once(answer.resume(), 'end');
    }
    expect(counts).to.have.length(3);
    await until(none, { deadlineMs: soonMsMax, what: 'the answers to be read' });
    agent.destroy();
    await server.close();
    expect(counts).to.deep.equal([0, 0, 0]);
  });

  it('are counted of large answers alone, also of those behind another, until the client is gone', async () => {
    sizes = [largest, 65_536, 32_768];
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(sizes.length));
    await until(() => sizes.length === 0, { deadlineMs: soonMsMax, what: 'all requests' });
    expect(counts).to.have.length(2);
    expect(counts[0]).to.be.at.least(largest / 2);
    expect(counts[1]).to.be.at.least(65_536);
    socket.destroy();
    await until(none, { deadlineMs: soonMsMax, what: 'the answers to be given up' });
    await server.close();
    expect(counts).to.deep.equal([0, 0]);
  });
});

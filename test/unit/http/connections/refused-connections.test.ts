import { connect } from 'node:net';
import { expect } from 'chai';
import type { Logger } from '../../../../shared/runtime/logger.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { slowClock } from '../../../support/time/slow-clock.js';
import { until } from '../../../support/time/until.js';

const [connectionsMax, refusedCount, soonMsMax] = [2, 10, 5_000];
/** How often it is said at most. */
const dropLogEveryMs = 10_000;

describe('connections beyond those that may be open', () => {
  it('are refused, which is said once and not of each, and again of those that are refused later', async () => {
    const said: object[] = [];
    // Or a machine that stands still would have the time over by itself.
    const clock = slowClock(1_000);
    const server = createBareServer(() => undefined, {
      logger: { warn: (fields: object) => said.push(fields) } as unknown as Logger,
      connectionsMax,
      timeouts: { lingerMs: 100 },
    });
    const port = await server.listen(0, '127.0.0.1');
    const open = () =>
      connect({ port, host: '127.0.0.1' })
        .on('error', () => undefined)
        .resume();
    const sockets = Array.from({ length: connectionsMax + refusedCount }, open);
    try {
      await until(() => sockets.filter(({ closed }) => closed).length === refusedCount, {
        deadlineMs: soonMsMax,
        what: 'the others to be refused',
      });
      expect(said).to.deep.equal([{ connectionsMax }]);
      clock.advance(dropLogEveryMs);
      sockets.push(open());
      await until(() => said.length > 1, { deadlineMs: 2 * dropLogEveryMs, what: 'it to be said again' });
      expect(said).to.deep.equal([{ connectionsMax }, { connectionsMax }]);
    } finally {
      clock.restore();
      for (const socket of sockets) socket.destroy();
      await server.close();
    }
  });
});

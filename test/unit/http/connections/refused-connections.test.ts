import { connect } from 'node:net';
import { expect } from 'chai';
import type { Logger } from '../../../../shared/runtime/logger.js';
import { createBareServer } from '../../../support/http/bare-server.js';
import { until } from '../../../support/time/until.js';

const [connectionsMax, refusedCount, soonMsMax] = [2, 10, 5_000];

describe('connections beyond those that may be open', () => {
  it('are refused, which is said once and not of each', async () => {
    const said: object[] = [];
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
    } finally {
      for (const socket of sockets) socket.destroy();
      await server.close();
    }
  });
});

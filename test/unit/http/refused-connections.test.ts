import { connect } from 'node:net';
import { expect } from 'chai';
import { createApiServer } from '../../../api/http/server.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { until } from '../../support/until.js';

const [connectionsMax, refusedCount, soonMsMax] = [2, 10, 5_000];

describe('connections beyond those that may be open', () => {
  it('are refused, which is said once and not of each', async () => {
    const said: object[] = [];
    const server = createApiServer({
      handle: () => undefined,
      allowedMethods: () => undefined,
      onRefused: () => undefined,
      logger: { warn: (fields: object) => said.push(fields) } as unknown as Logger,
      timeouts: {
        headersMs: 10_000,
        requestMs: 10_000,
        takenMs: 10_000,
        keepAliveMs: 10_000,
        lingerMs: 100,
        arrivalMs: 1_000,
      },
      connectionsMax,
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

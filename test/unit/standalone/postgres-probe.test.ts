import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { answersAsPostgres } from '../../../shared/standalone/postgres-probe.js';

describe('whether a Postgres answers on a port', () => {
  for (const [answer, isPostgres] of [
    ['S', true],
    ['N', true],
    ['HTTP/1.1 400 Bad Request\r\n\r\n', false],
    ['', false],
  ] as const) {
    it(`is ${isPostgres ? 'so' : 'not so'} where the answer is ${JSON.stringify(answer)}`, async () => {
      const server = createServer((socket) => socket.once('data', () => socket.end(answer)));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      expect(await answersAsPostgres(port)).to.equal(isPostgres);
      server.close();
      await once(server, 'close');
      expect(await answersAsPostgres(port), 'nobody listens').to.equal(false);
    });
  }
});

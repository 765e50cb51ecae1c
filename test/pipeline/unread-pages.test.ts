import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { createMaterials } from '../../shared/database/create-materials.js';
import { ask, useHttpService } from '../support/http/http-service.js';
import { listPath } from '../support/http/material-paths.js';
import { expectData, expectError } from '../support/http/reply.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 30_000;
/** A page of the longest texts is 11 MB, which is more than the kernel takes for a client that does not read. */
const materials = Array.from({ length: 1_000 }, (_, index) => ({
  id: `VMAT-VAR-${index}`,
  origin: 'virtual' as const,
  productName: `Material ${index}`,
  specifications: 'x'.repeat(10_000),
}));
const page = `${listPath}?pageSize=1000`;

describe('pages that their clients do not read', () => {
  const http = useHttpService();

  it('hold up the reads of their shop and of no other, until they are read or given up', async () => {
    const [lying, other] = [await createTestShop(http.database), await createTestShop(http.database)];
    await createMaterials(http.database, lying.shopId, materials);
    await http.withApi({}, async ({ baseUrl, port }) => {
      const sockets: Socket[] = [];
      /** Asks, several times on one connection, and reads no more than the begin of the first answer. */
      const askAndLeave = async () => {
        const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
        sockets.push(socket);
        const asked = `GET ${page} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${lying.readKey}\r\n\r\n`;
        socket.write(asked.repeat(3));
        await once(socket, 'readable');
      };
      try {
        for (let count = 0; count < 2; count += 1) await askAndLeave();
        expectError(await ask(baseUrl, { path: listPath, key: lying.readKey }), 'SERVICE_UNAVAILABLE');
        expectData(await ask(baseUrl, { path: listPath, key: other.readKey }), 'list');
      } finally {
        for (const socket of sockets) socket.destroy();
      }
      const isServed = async () => (await ask(baseUrl, { path: page, key: lying.readKey })).status === 200;
      await until(isServed, { deadlineMs: soonMsMax, what: 'the shop to be served again' });
      // Each is read at once, so that any number of them may follow.
      for (let count = 0; count < 4; count += 1) expect(await isServed()).to.equal(true);
    });
  });
});

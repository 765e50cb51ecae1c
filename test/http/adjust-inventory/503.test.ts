import { expect } from 'chai';
import { stopProcess } from '../../support/processes/service-process.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useWorkerlessService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

describe('PATCH /v1/raw-materials/{variantId}/inventory: 503', () => {
  const http = useWorkerlessService();

  it('no worker is running: refused before it is queued; once one runs, the same Idempotency-Key runs afresh', async () => {
    const shop = await createTestShop(http.database);
    const asked = {
      method: 'PATCH',
      path: inventoryPath(shop.materialIds[0]!),
      key: shop.writeKey,
      headers: { 'idempotency-key': 'k' },
      body: { updates: [{ locationId: '1001', delta: 2 }] },
    };
    const answer = await expectUntouched(http, shop.shopId, () => http.ask(asked));
    expectError(answer, 'SERVICE_UNAVAILABLE');
    expect(Number(answer.headers['retry-after'])).to.be.within(1, 3);
    const worker = await http.service.startWorker();
    try {
      const done = await until(
        async () => {
          const again = await http.ask(asked);
          return again.status !== 503 && again;
        },
        { deadlineMs: 5_000, what: 'the API to see the worker' },
      );
      expect(expectData(done, 'batch')).to.include({ okCount: 1 });
      expect(done.headers).not.to.have.property('idempotency-replayed');
      const levels = await http.ask({ path: asked.path, key: shop.readKey });
      expect(expectData(levels, 'levels')).to.include({ totalQuantity: 2 });
    } finally {
      await stopProcess(worker);
      await until(async () => (await http.ask({ path: '/readyz' })).status === 503, {
        deadlineMs: 5_000,
        what: 'the API to see that the worker is gone',
      });
    }
    // What the key did stands, though this attempt does nothing.
    const { message } = expectError(await http.ask(asked), 'SERVICE_UNAVAILABLE');
    expect(message)
      .to.match(/This attempt was not applied/)
      .and.not.match(/nothing was applied/i);
  });

  it('without a key, and of a dry run with one, it says that nothing was applied', async () => {
    const shop = await createTestShop(http.database);
    const path = inventoryPath(shop.materialIds[0]!);
    const asked = { method: 'PATCH', key: shop.writeKey, body: { updates: [{ locationId: '1001', delta: 2 }] } };
    for (const answer of [
      await http.ask({ ...asked, path }),
      await http.ask({ ...asked, path: `${path}?dryRun=true`, headers: { 'idempotency-key': 'k' } }),
    ]) {
      expect(expectError(answer, 'SERVICE_UNAVAILABLE').message).to.match(/ Nothing was applied\.$/);
    }
  });
});

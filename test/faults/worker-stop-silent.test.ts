import { expect } from 'chai';
import { addOne, totalOf } from '../support/shop/change.js';
import { startProxiedService } from '../support/faults/proxied-service.js';
import type { ProxiedService } from '../support/faults/proxied-service.js';
import { createTestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;

describe('a worker that is stopped beside a Postgres that says nothing', () => {
  let proxied: ProxiedService;
  before(async () => {
    proxied = await startProxiedService({
      apis: 1,
      workers: 1,
      env: { WAIT_MS: '30000', SHUTDOWN_TIMEOUT_MS: '40000' },
    });
  });
  after(() => proxied.stop());

  it('gives up what it has in hand, gives it back, and ends by itself; another worker applies it, once', async () => {
    const { service, database, links } = proxied;
    const [worker] = service.workers;
    const [toPostgres] = links['worker–Postgres'];
    const shop = await createTestShop(database);
    await toPostgres?.inject({ kind: 'hold' });
    const asked = addOne(service.baseUrls[0] ?? '', shop);
    await until(() => (toPostgres?.struck() ?? 0) > 0, { deadlineMs: soonMsMax, what: 'a statement to be held' });
    worker?.kill('SIGTERM');
    expect(await worker?.exited, worker?.logs().join('\n')).to.deep.equal({ code: 0, signal: null });
    expect(worker?.logs().join('\n')).to.contain('"msg":"closed"');
    await service.startWorker();
    expect((await asked).status).to.equal(200);
    expect(await totalOf(database, shop)).to.equal(1);
    await toPostgres?.heal();
  });
});

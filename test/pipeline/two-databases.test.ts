import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { exitCodes } from '../../shared/runtime/exit-codes.js';
import { addOne, totalOf } from '../support/shop/change.js';
import { connectForTest } from '../support/database/database.js';
import { scrape } from '../support/metrics/exposition.js';
import type { Answer } from '../support/http/http.js';
import { npmStart } from '../support/processes/npm-start.js';
import { freezeWorkers } from '../support/processes/hold-workers.js';
import { createTestDatabase } from '../support/processes/servers.js';
import type { TestDatabase } from '../support/processes/servers.js';
import { startService, untilServing } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/time/until.js';

const soonMsMax = 20_000;
/** Beyond that, so that what is refused sooner was not refused at the end of its wait. */
const longWait = { WAIT_MS: '60000', SHUTDOWN_TIMEOUT_MS: '70000' };

interface Installation {
  service: Service;
  database: Database;
  shop: TestShop;
}

describe('two installations on one Redis, which is a mistake', () => {
  let theirDatabase: TestDatabase;
  let ours: Installation;
  let theirs: Installation;
  before(async () => {
    const service = await startService({ apiEnv: longWait });
    theirDatabase = await createTestDatabase();
    ours = await install(service);
    const { redisUrl } = service;
    const { materialIds } = ours.shop;
    const another = { redisUrl, databaseUrl: theirDatabase.url, workers: 0, env: { ADMIN_PORT: '0' } };
    theirs = await install(await startService(another), materialIds);
    await theirs.service.startWorker();
  });
  after(async () => {
    await Promise.all([ours, theirs].map(({ database }) => database.destroy()));
    await Promise.all([ours, theirs].map(({ service }) => service.stop()));
    await theirDatabase.drop();
  });

  /** The first shop of its database; both have the same materials, as a staging system has them. */
  async function install(service: Service, materialIds?: string[]): Promise<Installation> {
    const database = connectForTest(service.databaseUrl, { poolMax: 1 });
    return { service, database, shop: await createTestShop(database, materialIds && { materialIds }) };
  }
  const add = ({ service, shop }: Installation) => addOne(service.baseUrls[0] ?? '', shop);
  const total = ({ database, shop }: Installation) => totalOf(database, shop);

  it('the later one serves no writes, and says why; those of the first are applied where they belong', async () => {
    for (let count = 0; count < 20; count += 1) {
      const [done, refused] = await Promise.all([add(ours), add(theirs)]);
      expect(done.status).to.equal(200);
      expect(refused.status).to.equal(503);
      expect(refused.body)
        .to.have.nested.property('error.message')
        .that.matches(/^No worker of this database is /);
    }
    expect([await total(ours), await total(theirs)]).to.deep.equal([20, 0]);
    const logs = [...theirs.service.apis, ...theirs.service.workers].map((process) => process.logs().join('\n'));
    for (const log of logs) expect(log).to.contain('workers of another database are alive on this Redis');
  });

  it('to its metrics no worker is there, though some are alive', async () => {
    const [api] = theirs.service.apis;
    const isTold = async () => {
      const metrics = await scrape(api?.adminUrl);
      const ready = metrics.samples.find(
        ({ name, labels }) => name === 'raw_materials_ready' && labels['part'] === 'worker',
      );
      return ready?.value === 0 && metrics.sum('raw_materials_live_workers') > 0;
    };
    await until(isTold, { deadlineMs: soonMsMax, what: 'the metrics to say so' });
  });

  it('npm start with the Redis of another says so, and ends', async () => {
    const folder = await temporaryFolder();
    try {
      const given = { REDIS_URL: ours.service.redisUrl, DATABASE_URL: theirDatabase.url };
      const started = npmStart(folder.path, given);
      const { code } = await started.exited;
      expect(started.output()).to.include('alive, writing to another database').and.to.include('(REDIS_URL)');
      expect(code).to.equal(exitCodes.config);
    } finally {
      await folder.remove();
    }
  });

  it('the later one serves by itself once the workers of the first are gone, and not what was queued for those', async () => {
    const workers = ours.service.workers.splice(0);
    await freezeWorkers(ours.service, workers);
    let answer: Answer | undefined;
    void add(ours).then((answered) => (answer = answered));
    for (const worker of workers) worker.kill('SIGKILL');
    await untilServing(theirs.service);
    const queued = await until(() => answer, { deadlineMs: soonMsMax, what: 'the refusal of what was queued' });
    expect(queued.status).to.equal(503);
    expect([await total(ours), await total(theirs)]).to.deep.equal([20, 0]);
    // Its shop has the same id as the one whose change has waited here, and so counts as late until that is seen anew.
    const isTaken = async () => {
      const { status, text } = await add(theirs);
      expect(status === 200 || (status === 503 && text.includes('backlog')), text).to.equal(true);
      return status === 200;
    };
    await until(isTaken, { deadlineMs: soonMsMax, what: 'the backlog to be forgotten' });
    expect((await add(ours)).status).to.equal(503);
    expect([await total(ours), await total(theirs)]).to.deep.equal([20, 1]);
  });
});

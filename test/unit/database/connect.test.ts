import { expect } from 'chai';
import { connectDatabase } from '../../../shared/database/connect.js';
import type { Database } from '../../../shared/database/connect.js';
import { startFaultProxy } from '../../support/fault-proxy.js';
import type { FaultProxy } from '../../support/fault-proxy.js';
import { testPostgres } from '../../support/servers.js';
import { until } from '../../support/until.js';

/** Far below the time after which TCP itself gives a silent peer up. */
const answerMsMax = 500;
const soonMsMax = 5_000;

describe('a pool whose server was lost without a word', () => {
  let proxy: FaultProxy;
  let database: Database;
  before(async () => {
    const { url } = await testPostgres();
    proxy = await startFaultProxy({ port: Number(new URL(url).port) });
    const options = { url: proxy.through(url), poolMax: 2, applicationName: 'test', answerMsMax };
    database = connectDatabase(options);
  });
  after(async () => {
    await database.destroy();
    await proxy.close();
  });

  it('gives up the connections on which a statement overstayed its time, and opens others', async () => {
    const select = () => Promise.allSettled([database.raw('SELECT 1'), database.raw('SELECT 2')]);
    const statuses = async () => (await select()).map(({ status }) => status);
    expect(await statuses()).to.deep.equal(['fulfilled', 'fulfilled']);
    await proxy.inject({ kind: 'half-open', gone: 'server' });
    expect(await statuses(), 'the old connections answer no more').to.deep.equal(['rejected', 'rejected']);
    await proxy.heal();
    // The pool may hand out a connection once more before it has heard that it ended; never after that.
    const isHealthy = async () => !(await statuses()).includes('rejected');
    await until(isHealthy, { deadlineMs: soonMsMax, what: 'new connections' });
    expect(await statuses()).to.deep.equal(['fulfilled', 'fulfilled']);
  });
});

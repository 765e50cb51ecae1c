import { expect } from 'chai';
import { connectDatabase, untilReachable } from '../../../shared/database/connect.js';
import type { Database } from '../../../shared/database/connect.js';
import { readRows } from '../../../shared/database/read-rows.js';
import { Unavailable } from '../../../shared/domain/unavailable.js';
import { startFaultProxy } from '../../support/fault-proxy.js';
import type { FaultProxy } from '../../support/fault-proxy.js';
import { testPostgres } from '../../support/servers.js';
import { until } from '../../support/until.js';

/** Far below the time after which TCP itself gives a silent peer up. */
const answerMsMax = 500;
const soonMsMax = 5_000;

describe('a process that starts', () => {
  let proxy: FaultProxy;
  let database: Database;
  let url: string;
  before(async () => {
    ({ url } = await testPostgres());
    proxy = await startFaultProxy({ port: Number(new URL(url).port) });
    database = connectDatabase({ url: proxy.through(url), poolMax: 1, applicationName: 'test' });
  });
  after(async () => {
    await database.destroy();
    await proxy.close();
  });

  it('waits for a Postgres that is not there yet', async () => {
    await proxy.inject({ kind: 'refuse' });
    let isReached = false;
    const reached = untilReachable(() => database.raw('SELECT 1')).then(() => (isReached = true));
    const refused = await database.raw('SELECT 1').then(
      () => 'reached',
      () => 'refused',
    );
    expect(refused).to.equal('refused');
    expect(isReached).to.equal(false);
    await proxy.heal();
    await reached;
  });

  it('does not wait for one that will not have it', async () => {
    const nobody = connectDatabase({
      url: url.replace(/[^/]*$/, 'no_such_database'),
      poolMax: 1,
      applicationName: 'test',
    });
    const refused = await untilReachable(() => nobody.raw('SELECT 1')).catch((error: unknown) => error);
    await nobody.destroy();
    expect(refused).to.be.instanceOf(Unavailable).and.have.nested.property('cause.code', '3D000');
  });
});

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

describe('a pool whose driver ends a connection, since a statement overstayed its time', () => {
  let database: Database;
  before(async () => {
    const { url } = await testPostgres();
    database = connectDatabase({ url, poolMax: 1, applicationName: 'test', answerMsMax });
  });
  after(() => database.destroy());

  it('hands it to nobody: neither to who waited for one, nor to who comes at that moment', async () => {
    await database.raw('SELECT 1');
    const slow = database.raw('SELECT pg_sleep(2)').catch(() => database.raw('SELECT 1'));
    const waiting = database.raw('SELECT 1');
    const settled = await Promise.allSettled([slow, waiting]);
    expect(settled.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled']);
  });
});

describe('a pool whose server ends a session', () => {
  let database: Database;
  let server: Database;
  before(async () => {
    const { url } = await testPostgres();
    // As the API connects: with `answerMsMax` the driver waits for no answer before it writes.
    database = connectDatabase({ url, poolMax: 1, applicationName: 'test', answerMsMax: soonMsMax });
    server = connectDatabase({ url, poolMax: 1, applicationName: 'test' });
  });
  after(() => Promise.all([database.destroy(), server.destroy()]));

  async function endAtWork(): Promise<void> {
    const { rows } = await database.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
    const pid = rows[0]?.pid ?? expect.fail('no session');
    const atWork = readRows(database, 'SELECT pg_sleep(60)', {}).catch((error: unknown) => error);
    const isEnded = async () => {
      const sleeping = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ? AND query LIKE '%pg_sleep%'`;
      const ended = await server.raw<{ rows: unknown[] }>(sleeping, [pid]);
      return ended.rows.length > 0;
    };
    await until(isEnded, { deadlineMs: soonMsMax, what: 'a session that sleeps' });
    expect(await atWork).to.have.property('code', '57P01');
  }

  it('hands the connection to nobody, though its socket has not ended yet', async () => {
    // The socket ends some moments later, and mostly too late for the next who asks.
    for (let round = 0; round < 20; round += 1) {
      await endAtWork();
      expect(await readRows(database, 'SELECT 1 AS found', {})).to.deep.equal([{ found: 1 }]);
    }
  });
});

import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { connectDatabase, untilReachable } from '../../../shared/database/connect.js';
import type { Database } from '../../../shared/database/connect.js';
import { isDriverTimeout } from '../../../shared/database/errors.js';
import { readRows } from '../../../shared/database/read-rows.js';
import { assertTakesWrites } from '../../../shared/database/takes-writes.js';
import { ServerUnusable } from '../../../shared/domain/server-unusable.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { startFaultProxy } from '../../support/faults/fault-proxy.js';
import type { FaultProxy } from '../../support/faults/fault-proxy.js';
import { testPostgres } from '../../support/processes/servers.js';
import { until } from '../../support/time/until.js';

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
    let asked = 0;
    const ask = () => {
      asked += 1;
      return nobody.raw('SELECT 1');
    };
    const refused = await untilReachable(ask).catch((error: unknown) => error);
    await nobody.destroy();
    expect(asked).to.equal(1);
    expect(refused).to.be.instanceOf(ServerUnusable).and.have.nested.property('cause.code', '3D000');
  });
});

describe('a pool whose server was lost without a word', () => {
  let proxy: FaultProxy;
  let database: Database;
  before(async () => {
    const { url } = await testPostgres();
    proxy = await startFaultProxy({ port: Number(new URL(url).port) });
    database = connectForTest(proxy.through(url), { answerMsMax });
  });
  after(async () => {
    await database.destroy();
    await proxy.close();
  });

  /** The sessions behind both connections, undefined where one was not told in time. */
  async function sessions(): Promise<(number | undefined)[]> {
    const ask = () => database.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
    const answers = await Promise.allSettled([ask(), ask()]);
    return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.rows[0]?.pid : undefined));
  }
  /** On a machine that stands still now and then, an answer may come too late by itself. */
  const untilTold = () =>
    until(
      async () => {
        const told = await sessions();
        return !told.includes(undefined) && told;
      },
      { deadlineMs: soonMsMax, what: 'both connections to answer' },
    );

  it('gives up the connections on which a statement overstayed its time, and opens others', async () => {
    const lost = await untilTold();
    await proxy.inject({ kind: 'half-open', gone: 'server' });
    expect(await sessions(), 'the old connections answer no more').to.deep.equal([undefined, undefined]);
    await proxy.heal();
    // The pool may hand out a connection once more before it has heard that it ended; never after that.
    expect(await untilTold()).to.not.include.oneOf(lost);
  });
});

describe('a pool whose server accepts connections and does not say a word', () => {
  it('says so within seconds to who waits for one, and leaves no socket open', async () => {
    const heard: Socket[] = [];
    const silent = createServer((socket) => heard.push(socket.resume())).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const url = `postgres://nobody:none@127.0.0.1:${String(port)}/none`;
    const database = connectDatabase({ url, poolMax: 1, applicationName: 'test' });
    try {
      const asked = database.raw('SELECT 1').catch((error: unknown) => error);
      const fault: unknown = await Promise.race([asked, delay(2 * soonMsMax, 'still waiting')]);
      expect(String(fault)).to.match(/timeout/i);
      await until(() => heard.every(({ closed }) => closed), { deadlineMs: soonMsMax, what: 'the sockets to close' });
      expect(heard).to.have.length.above(0);
    } finally {
      for (const socket of heard) socket.destroy();
      silent.close();
      await database.destroy();
    }
  });
});

describe('a pool whose connections are all at work', () => {
  it('says so within seconds to who waits for one', async () => {
    const { url } = await testPostgres();
    const database = connectDatabase({ url, poolMax: 1, applicationName: 'test' });
    const fault: unknown = await database.transaction(async (atWork) => {
      await atWork.raw('SELECT 1');
      const asked: Promise<unknown> = database.raw('SELECT 1').catch((error: unknown) => error);
      return Promise.race([asked, delay(2 * soonMsMax, 'still waiting', { ref: false })]);
    });
    await database.destroy();
    expect(fault).to.be.instanceOf(Error).and.have.property('message', 'no connection came free');
  });
});

describe('a pool whose driver ends a connection, since a statement overstayed its time', () => {
  let database: Database;
  before(async () => {
    const { url } = await testPostgres();
    database = connectForTest(url, { poolMax: 1, answerMsMax });
  });
  after(() => database.destroy());

  /** Of the session that answers; on a machine that stands still now and then, that may come too late. */
  const pid = () =>
    database.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid').then(
      ({ rows }) => rows[0]?.pid,
      (error: unknown) => void expect(error).to.satisfy(isDriverTimeout),
    );
  const answering = () => until(pid, { deadlineMs: soonMsMax, what: 'a session that answers' });

  it('hands it to nobody: neither to who waited for one, nor to who comes at that moment', async () => {
    const ended = await answering();
    const slow = database.raw('SELECT pg_sleep(60)').then(
      () => expect.fail('it was waited for'),
      (error: unknown) => {
        expect(error).to.satisfy(isDriverTimeout);
        return answering();
      },
    );
    for (const next of await Promise.all([answering(), slow])) expect(next).to.not.equal(ended);
  });
});

describe('a pool whose server ends a session', () => {
  let database: Database;
  let server: Database;
  before(async () => {
    const { url } = await testPostgres();
    // As the API connects: the driver waits for no answer before it writes.
    database = connectForTest(url, { poolMax: 1, pipeline: true });
    server = connectForTest(url, { poolMax: 1 });
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

describe('a pool whose sessions were read-only, and would not be any more', () => {
  const tested = useDatabase({ poolMax: 1 });
  const makeReadOnly = () => tested.database.raw('SET default_transaction_read_only = on');

  it('gives up a session that has refused a write because it is read-only', async () => {
    const write = () => tested.database.raw('DELETE FROM shops');
    await makeReadOnly();
    expect(await write().catch((error: unknown) => error)).to.have.property('code', '25006');
    await write();
  });

  it('gives up a session that says that it is read-only when it is asked', async () => {
    await makeReadOnly();
    const refused = await assertTakesWrites(tested.database).catch((error: unknown) => error);
    expect(refused).to.have.property('code', '25006');
    await assertTakesWrites(tested.database);
  });
});

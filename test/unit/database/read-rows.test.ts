import { expect } from 'chai';
import { connectionPool } from '../../../shared/database/raw-connection.js';
import { readRows } from '../../../shared/database/read-rows.js';
import type { Bindings } from '../../../shared/database/read-rows.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { sentDuring } from '../../support/database/sent-statements.js';
import { slowClock } from '../../support/time/slow-clock.js';
import { until } from '../../support/time/until.js';

const keptMax = 48;
const ofMaterial = 'SELECT sku FROM materials WHERE shop_id = :shopId AND id = :id';
const nobody = { shopId: 1, id: 'VMAT-nobody' };

describe('rows that are read', () => {
  const server = useDatabase({ poolMax: 1 });

  async function reconnect(): Promise<void> {
    const pool = connectionPool(server.database);
    const connection = await pool.acquireConnection();
    connection.__knex__disposed = 'a new one is wanted';
    await pool.releaseConnection(connection);
  }
  afterEach(reconnect);

  const read = (sql: string, bindings: Bindings = {}) =>
    readRows<Record<string, unknown>>(server.database, sql, bindings);

  async function kept(): Promise<{ statement: string; generic: number; custom: number }[]> {
    const { rows } = await server.database.raw<{ rows: { statement: string; generic: number; custom: number }[] }>(
      `SELECT statement, CAST(generic_plans AS integer) AS generic, CAST(custom_plans AS integer) AS custom
       FROM pg_prepared_statements ORDER BY prepare_time, statement`,
    );
    return rows;
  }

  /** The process of Postgres that answers. */
  async function pidOf(): Promise<number | undefined> {
    const { rows } = await server.database.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
    return rows[0]?.pid;
  }

  async function nameOf(sql: string): Promise<string> {
    const sent = await sentDuring(server.database, () => read(sql, { ...nobody, id: 0 }));
    return sent.at(-1)?.name ?? expect.fail('it has no name');
  }

  it('take their values by name, as often as a name stands there, and those that stand nowhere are left out', async () => {
    const bindings = { texts: ['a,"', 'b'], number: 7, none: null, yes: true, nowhere: 1 };
    const sql = `SELECT :number::integer + CAST(:number AS integer) AS twice, CAST(:texts AS text[]) AS texts,
                        CAST(:none AS text) AS none, CAST(:yes AS boolean) AS yes`;
    expect(await read(sql, bindings)).to.deep.equal([{ twice: 14, texts: ['a,"', 'b'], none: null, yes: true }]);
  });

  it('need a value for each name', async () => {
    const failed = await read(ofMaterial, { shopId: 1 }).catch((error: unknown) => error);
    expect(failed).to.have.property('message', 'a statement has no value for :id');
  });

  it('are parsed once a connection, and planned for whatever values after the five times that Postgres tries', async () => {
    for (let count = 0; count < 8; count += 1) await read(ofMaterial, nobody);
    const text = ofMaterial.replace(':shopId', '$1').replace(':id', '$2');
    expect(await kept()).to.deep.equal([{ statement: text, generic: 3, custom: 5 }]);
  });

  it('are planned anew every five seconds, for what has become of the tables without any ANALYZE', async () => {
    const { database } = server;
    await database.raw('CREATE TABLE grown (id integer PRIMARY KEY) WITH (autovacuum_enabled = off)');
    await database.raw('INSERT INTO grown VALUES (0)');
    await database.raw('ANALYZE grown');
    const one = 'SELECT id FROM grown WHERE id = :id';
    const plan = async () => {
      await read(one, { id: 0 });
      const { rows } = await database.raw<{ rows: { 'QUERY PLAN': string }[] }>(
        `EXPLAIN EXECUTE "${await nameOf(one)}" (0)`,
      );
      return rows[0]?.['QUERY PLAN'];
    };
    const clock = slowClock(100);
    try {
      for (let count = 0; count < 8; count += 1) await read(one, { id: 0 });
      await database.raw('INSERT INTO grown SELECT generate_series(1, 50000)');
      expect(await plan(), 'as the table was').to.include('Seq Scan');
      clock.advance(5_000);
      expect(await plan(), 'for what the table has become').to.include('Index Only Scan');
    } finally {
      clock.restore();
    }
  });

  it('are planned each time where their values decide how', async () => {
    await readRows(server.database, ofMaterial, nobody, { planEachTime: true });
    expect(await kept()).to.deep.equal([]);
  });

  it(`keep the plans of ${keptMax} statements, those that came first, and are found without as well`, async () => {
    for (let round = 0; round < 2; round += 1) {
      for (let column = 0; column < keptMax + 5; column += 1) {
        expect(await read(`SELECT ${column} AS found`)).to.deep.equal([{ found: column }]);
      }
    }
    const columns = (await kept()).map(({ statement }) => Number(/\d+/.exec(statement)?.[0]));
    expect(columns.toSorted((one, other) => one - other)).to.deep.equal([...Array(keptMax).keys()]);
  });

  it('are found though a newer version has changed the type of a column, and by a plan that fits from then on', async () => {
    await read(ofMaterial, nobody);
    await server.database.raw('ALTER TABLE materials ADD COLUMN colour varchar(10)');
    const withColour = 'SELECT colour FROM materials WHERE shop_id = :shopId AND id = :id';
    await read(withColour, nobody);
    await server.database.raw('ALTER TABLE materials ALTER COLUMN colour TYPE text');
    expect(await read(withColour, nobody)).to.deep.equal([]);
    await server.database.raw('ALTER TABLE materials DROP COLUMN colour');
    for (let count = 0; count < 2; count += 1) await read(ofMaterial, nobody);
    expect(await kept()).to.have.lengthOf(1);
  });

  it('are found though a pooler has lost the names, or another client of it has taken them', async () => {
    await read(ofMaterial, nobody);
    await server.database.raw('DEALLOCATE ALL');
    expect(await read(ofMaterial, nobody)).to.deep.equal([]);

    const [{ name, text } = expect.fail('nothing was sent')] = await sentDuring(server.database, () =>
      read(ofMaterial, nobody),
    );
    await reconnect();
    await server.database.raw(`PREPARE "${name}" AS ${text}`);
    expect(await read(ofMaterial, nobody)).to.deep.equal([]);
  });

  it('come over another connection after a fault that is not one that passes', async () => {
    const pid = await pidOf();
    await read(ofMaterial, nobody);
    expect(await pidOf()).to.equal(pid);
    const failed = await read('SELECT 1 / 0').catch((error: unknown) => error);
    expect(failed).to.have.property('code', '22012');
    expect(await pidOf())
      .to.be.a('number')
      .and.not.equal(pid);
  });

  it('that take too long are ended in Postgres as well', async () => {
    const impatient = connectForTest(server.url, { poolMax: 1, applicationName: 'overstays', answerMsMax: 300 });
    const observer = connectForTest(server.url, { poolMax: 1 });
    try {
      await server.database.transaction(async (lock) => {
        await lock.raw('LOCK TABLE materials');
        const late = await readRows(impatient, ofMaterial, nobody).catch((error: unknown) => error);
        expect(late).to.have.property('message', 'Query read timeout');
        const isAtNothing = async () => {
          const left = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'overstays' AND wait_event_type = 'Lock'`;
          return (await observer.raw<{ rows: unknown[] }>(left)).rows.length === 0;
        };
        await until(isAtNothing, { deadlineMs: 5_000, what: 'no session that still waits for the lock' });
      });
    } finally {
      await Promise.all([impatient.destroy(), observer.destroy()]);
    }
  });
});

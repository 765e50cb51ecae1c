import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import { pipelinedTransaction } from '../../../shared/database/pipelined-transaction.js';
import { connectForTest } from '../../support/database/database.js';
import { testPostgres } from '../../support/processes/servers.js';

describe('a transaction in two messages', () => {
  let database: Database;
  before(async () => {
    const { url } = await testPostgres();
    database = connectForTest(url, { poolMax: 1, pipeline: true });
  });
  after(() => database.destroy());

  /** The process of Postgres that ran it. */
  const run = (text: string) =>
    pipelinedTransaction(database, [{ text: 'SELECT pg_backend_pid() AS pid' }, { text }], ([pid]) => ({
      writing: [],
      conclude: () => (pid?.rows as { pid: number }[])[0]?.pid,
    }));

  it('goes on the connection of the one before, as long as that was not at fault', async () => {
    const pid = await run('SELECT 1');
    expect(await run('SELECT 1')).to.equal(pid);
    const locked = await run(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '55P03'; END $$`).catch(() => 'failed');
    expect(locked).to.equal('failed');
    expect(await run('SELECT 1')).to.equal(pid);
  });

  it('is tried again on a fresh connection where the fault is not one that passes', async () => {
    const pid = await run('SELECT 1');
    expect(await run('SELECT 1 / 0').catch(() => 'failed')).to.equal('failed');
    expect(await run('SELECT 1'))
      .to.be.a('number')
      .and.not.equal(pid);
  });

  it('that was aborted without anyone hearing of it is not taken for committed: COMMIT then answers ROLLBACK', async () => {
    const client = database.client as { acquireConnection: () => Promise<Record<'query', (query: object) => unknown>> };
    const deaf = Object.create(database, {
      client: {
        value: Object.create(client, {
          acquireConnection: {
            value: async () => {
              const connection = await client.acquireConnection();
              const query = connection.query.bind(connection);
              // As if the error of this one statement had been lost.
              const swallow = () => ({ rows: [] });
              connection.query = (asked) =>
                asked === aborting ? (query(asked) as Promise<unknown>).catch(swallow) : query(asked);
              return connection;
            },
          },
        }) as unknown,
      },
    }) as Database;
    const aborting = { text: 'SELECT 1 / 0' };
    const failure = await pipelinedTransaction(deaf, [], () => ({
      writing: [aborting],
      conclude: () => 'committed',
    })).catch(String);
    expect(failure).to.match(/ended with ROLLBACK/);
  });
});

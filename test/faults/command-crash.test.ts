import { expect } from 'chai';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import { settledTransaction } from '../../shared/database/settled-transaction.js';
import { migrateTestDatabase, startTestPostgres } from '../support/processes/servers.js';
import type { TestServer } from '../support/processes/servers.js';
import { until } from '../support/time/until.js';

const recoveryMsMax = 60_000;
const crashes = 4;

describe('an operator’s command whose Postgres crashes under its COMMIT', () => {
  let server: TestServer;
  let command: Database;
  let others: Database;
  before(async () => {
    server = await startTestPostgres();
    const { url } = await migrateTestDatabase(server);
    command = connectDatabase({ url, poolMax: 2, applicationName: 'command' });
    others = connectDatabase({ url, poolMax: 2, applicationName: 'others' });
    await others.raw('CREATE TABLE done (what text)');
  });
  after(async () => {
    await command.destroy();
    await others.destroy();
    await server.stop();
  });

  const transactionId = async (database: Database, what: string) => {
    const { rows } = await database.raw<{ rows: { id: string }[] }>(
      'INSERT INTO done VALUES (?) RETURNING CAST(pg_current_xact_id() AS text) AS id',
      [what],
    );
    return BigInt(rows[0]?.id ?? '0');
  };

  /** Even a session that was killed is there until Postgres has taken notice. */
  const isGone = (pid: number) => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  };

  it('is told as done only where it is, though another transaction has its number by then', async () => {
    for (let crash = 0; crash < crashes; crash += 1) {
      // Brings to disk what has been written so far; little of what comes next will be there.
      await others.raw('CHECKPOINT');
      const what = `command ${String(crash)}`;
      let own = 0n;
      let backend = 0;
      const work = async (transaction: Database) => {
        const { rows } = await transaction.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
        backend = rows[0]?.pid ?? 0;
        own = await transactionId(transaction, what);
        return what;
      };
      // One session killed with −9 is a crash of all of Postgres.
      const onCommit = () => process.kill(backend, 'SIGKILL');
      const told = settledTransaction(command, work, { onCommit, settledMsMax: recoveryMsMax }).catch(() => 'not done');
      await until(() => backend > 0 && isGone(backend), {
        deadlineMs: recoveryMsMax,
        what: 'Postgres to see the crash',
      });
      await until(async () => (await transactionId(others, 'other').catch(() => 0n)) >= own, {
        deadlineMs: recoveryMsMax,
        what: 'others to have come to its number',
      });
      const answer = await told;
      const isThere = (await others('done').where({ what })).length === 1;
      expect(answer).to.equal(isThere ? what : 'not done');
    }
  });
});

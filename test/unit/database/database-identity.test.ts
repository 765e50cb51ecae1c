import { expect } from 'chai';
import { connectDatabase } from '../../../shared/database/connect.js';
import { readDatabaseIdentity } from '../../../shared/database/database-identity.js';
import { connectForTest, useDatabase } from '../../support/database.js';
import { createEmptyDatabase } from '../../support/servers.js';

describe('which database this is', () => {
  const postgres = useDatabase();

  it('is the same for each connection and another for each database, of the same server too', async () => {
    const identity = await readDatabaseIdentity(postgres.database);
    expect(identity).to.match(/^\d+\.\d+$/);
    expect(await readDatabaseIdentity(postgres.database)).to.equal(identity);
    const empty = await createEmptyDatabase();
    const other = connectForTest(empty.url, { poolMax: 1 });
    expect(await readDatabaseIdentity(other))
      .to.match(/^\d+\.\d+$/)
      .and.not.equal(identity);
    await other.destroy();
    await empty.drop();
  });

  it('is not known where this Postgres does not have the function, and is no fault then', async () => {
    const transaction = await postgres.database.transaction();
    await transaction.raw('ALTER FUNCTION pg_control_system() RENAME TO not_there');
    const identity = await readDatabaseIdentity(transaction).finally(() => transaction.rollback());
    expect(identity).to.equal(undefined);
  });

  it('is asked in vain of a connection that is lost, which is a fault', async () => {
    const lost = connectDatabase({
      url: 'postgres://nobody:none@127.0.0.1:1/none',
      poolMax: 1,
      applicationName: 'test',
    });
    const fault: unknown = await readDatabaseIdentity(lost).catch((error: unknown) => error);
    await lost.destroy();
    expect(String(fault)).to.match(/ECONNREFUSED/);
  });

  it('is not known where the role may not ask, and is no fault then', async () => {
    await postgres.database.raw('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    const transaction = await postgres.database.transaction();
    await transaction.raw('CREATE ROLE narrow_for_identity');
    await transaction.raw('SET LOCAL ROLE narrow_for_identity');
    const identity = await readDatabaseIdentity(transaction).finally(() => transaction.rollback());
    expect(identity).to.equal(undefined);
  });
});

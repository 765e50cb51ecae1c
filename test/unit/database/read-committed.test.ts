import { expect } from 'chai';
import { isDriverTimeout } from '../../../shared/database/errors.js';
import { runReadCommitted } from '../../../shared/database/read-committed.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { untilWaiting } from '../../support/database/waiting-sessions.js';

describe('a statement in a transaction of its own', () => {
  const server = useDatabase();

  it('that takes too long is ended in Postgres as well', async () => {
    const impatient = connectForTest(server.url, { poolMax: 1, answerMsMax: 300 });
    try {
      await server.database.transaction(async (lock) => {
        await lock.raw('LOCK TABLE operations');
        const late = await runReadCommitted(impatient, 'DELETE FROM operations', {}).catch((error: unknown) => error);
        expect(late).to.satisfy(isDriverTimeout);
        await untilWaiting(server.database, 0);
      });
    } finally {
      await impatient.destroy();
    }
  });
});

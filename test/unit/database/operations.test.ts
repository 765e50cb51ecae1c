import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { cancelOperations, findOutcomes, pruneOperations } from '../../../shared/database/operations.js';
import { useDatabase } from '../../support/database.js';

describe('the deletion of old operations', () => {
  const postgres = useDatabase({ poolMax: 2 });

  it('waits for nobody: what another process deletes at the same time is left to it', async () => {
    const { database } = postgres;
    const ids = [uuidv7({ msecs: 1 }), uuidv7({ msecs: 2 })] as const;
    const [held, free] = ids;
    await cancelOperations(
      database,
      ids.map((id) => ({ shopId: 1, materialId: 'VMAT-none', id })),
    );
    await database.transaction(async (other) => {
      await other.raw('SELECT 1 FROM operations WHERE op_id = ? FOR UPDATE', [held]);
      await database.transaction(async (own) => {
        await own.raw(`SET LOCAL lock_timeout = '1s'`);
        expect(await pruneOperations(own, { keptMs: 60_000, batchSize: 2 })).to.equal(undefined);
      });
    });
    expect([...(await findOutcomes(database, [held, free])).keys()]).to.deep.equal([held]);
  });
});

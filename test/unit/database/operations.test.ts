import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { cancelOperations, findOutcomes } from '../../../shared/database/operations.js';
import { pruneOperations, pruneOperationsAhead } from '../../../shared/database/prune-operations.js';
import { useDatabase } from '../../support/database/database.js';
import { planOf, sentDuring } from '../../support/database/sent-statements.js';
import type { PlanNode } from '../../support/database/sent-statements.js';

describe('the deletion of old operations', () => {
  const postgres = useDatabase({ poolMax: 2 });
  const keptMs = 60_000;

  /** Operations that were recorded so long ago, with ids that say when they were accepted. */
  const record = async (recordedAgoMs: number, ...acceptedAtMs: number[]): Promise<string[]> => {
    const ids = acceptedAtMs.map((msecs) => uuidv7({ msecs }));
    const operations = ids.map((id) => ({ shopId: 1, materialId: 'VMAT-none', id }));
    await cancelOperations(postgres.database, operations);
    await postgres.database.raw(
      `UPDATE operations SET recorded_at = recorded_at - ? * interval '1 millisecond' WHERE op_id = ANY (CAST(? AS uuid[]))`,
      [recordedAgoMs, ids],
    );
    return ids;
  };
  const prune = () => pruneOperations(postgres.database, { keptMs, batchSize: 1_000 });
  const onRecord = async (ids: string[]) => [...(await findOutcomes(postgres.database, ids)).keys()];

  it('leaves an operation on record for as long as it is told', async () => {
    const kept = await record(40_000, Date.now() - 40_000);
    const gone = await record(80_000, Date.now() - 80_000);
    await prune();
    expect(await onRecord([...kept, ...gone])).to.deep.equal(kept);
  });

  it('leaves it there as long where its id says that it is older: the clock that dated it was wrong', async () => {
    const now = await record(0, 0, Date.now() - 80_000);
    const before = await record(80_000, 0, Date.now() - 80_000);
    await prune();
    expect((await onRecord([...now, ...before])).sort()).to.deep.equal(now.sort());
  });

  it('deletes what Postgres dated far ahead, by a clock that was wrong, as soon as its id says that it is old', async () => {
    const yearAheadMs = 365 * 24 * 3_600_000;
    const kept = await record(-yearAheadMs, Date.now() - 40_000);
    const gone = await record(-yearAheadMs, Date.now() - 80_000);
    await prune();
    expect(await onRecord([...kept, ...gone])).to.deep.equal(kept);
  });

  it('does not ask the clock of this machine', async () => {
    const kept = await record(40_000, Date.now() - 40_000);
    const now = Date.now;
    Date.now = () => now() + 100 * keptMs;
    await prune().finally(() => (Date.now = now));
    expect(await onRecord(kept)).to.deep.equal(kept);
  });

  describe('whose ids are of a time to come', () => {
    const dayMs = 24 * 3_600_000;
    const yearsAhead = () => Date.now() + 3_650 * dayMs;
    const pruneAhead = (batch = {}) => pruneOperationsAhead(postgres.database, { keptMs, batchSize: 1_000, ...batch });

    it('leaves them on record as long as others, and no longer', async () => {
      const kept = await record(40_000, yearsAhead());
      const gone = await record(80_000, yearsAhead());
      await prune();
      expect(await onRecord(gone), 'by their ids alone they are young').to.deep.equal(gone);
      expect(await pruneAhead()).to.have.property('isFull', false);
      expect(await onRecord([...kept, ...gone])).to.deep.equal(kept);
    });

    it('looks at all of them, batch by batch, whichever clock was further ahead', async () => {
      await postgres.database.raw('DELETE FROM operations');
      const kept = await record(40_000, Date.now() + 3 * dayMs, Date.now() + 4 * dayMs);
      const gone = await record(80_000, yearsAhead(), yearsAhead() + 1);
      const first = await pruneAhead({ batchSize: 2 });
      expect(first).to.deep.equal({ last: kept[1], isFull: true });
      const second = await pruneAhead({ batchSize: 2, after: first.last });
      expect(second).to.deep.equal({ last: gone[1], isFull: true });
      const third = await pruneAhead({ batchSize: 2, after: second.last });
      expect(third).to.deep.equal({ last: undefined, isFull: false });
      expect(await onRecord([...kept, ...gone])).to.have.members(kept);
    });

    it('asks the primary key whether there are any, and looks at no others', async () => {
      const [statement] = (await sentDuring(postgres.database, pruneAhead)).filter(({ text }) =>
        text.includes('ahead'),
      );
      if (statement === undefined) expect.fail('nothing was sent');
      const nodes = nodesOf(await planOf(postgres.database, statement));
      const ahead = nodes.find((node) => node['Index Cond']?.includes('op_id >'));
      expect(ahead).to.include({ 'Index Name': 'operations_pkey' });
    });

    const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
  });

  it('waits for nobody: what another process deletes at the same time is left to it', async () => {
    const { database } = postgres;
    const ids = await record(2 * keptMs, 1, 2);
    const [held = ''] = ids;
    await database.transaction(async (other) => {
      await other.raw('SELECT 1 FROM operations WHERE op_id = ? FOR UPDATE', [held]);
      await database.transaction(async (own) => {
        await own.raw(`SET LOCAL lock_timeout = '1s'`);
        expect(await pruneOperations(own, { keptMs, batchSize: 2 })).to.have.property('isFull', false);
      });
    });
    expect(await onRecord(ids)).to.deep.equal([held]);
  });
});

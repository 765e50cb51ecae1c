import { expect } from 'chai';
import { checkLedger } from '../../shared/database/ledger-check.js';
import type { Database } from '../../shared/database/connect.js';
import { findLevels } from '../../shared/database/levels.js';
import { createMaterials } from '../../shared/database/create-materials.js';
import { findMaterial } from '../../shared/database/materials.js';
import { cancelOperations, findOutcomes, recordFailed } from '../../shared/database/operations.js';
import { pruneOperations } from '../../shared/database/prune-operations.js';
import { updateShop } from '../../shared/database/shops.js';
import type { AdjustmentRow } from '../../shared/domain/adjustment.js';
import type { Operation, OperationOutcome } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { operationExpiryMs } from '../../shared/inventory/time-limits.js';
import { connectForTest } from '../support/database/database.js';
import { racingDatabase, recordCancelled } from '../support/database/racing-database.js';
import { createTestDatabase } from '../support/processes/servers.js';
import type { TestDatabase } from '../support/processes/servers.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

describe('the apply step', () => {
  let server: TestDatabase;
  let database: Database;
  let shop: TestShop;
  let materialId: string;
  let here: string;
  let there: string;

  before(async () => {
    server = await createTestDatabase();
    database = connectForTest(server.url, { poolMax: 4, pipeline: true });
  });
  after(async () => {
    await database.destroy();
    await server.drop();
  });
  beforeEach(async () => {
    shop = await createTestShop(database);
    [materialId = ''] = shop.materialIds;
    [here = '', there = ''] = shop.locationIds;
  });

  const adjust = (...rows: AdjustmentRow[]) => operationOf({ kind: 'adjust', rows });
  const book = (locationId: string, units: number) => adjust({ locationId, delta: toMicros(units) });
  const apply = (...operations: Operation[]) =>
    applyOperations(database, [{ shopId: shop.shopId, materialId, operations }], { nowMs: Date.now });
  const outcomesOf = async (...operations: Operation[]): Promise<(OperationOutcome | undefined)[]> => {
    const { outcomes } = await apply(...operations);
    return operations.map(({ id }) => outcomes.get(id));
  };
  const levelsNow = async () => {
    const read = await findLevels(database, shop.shopId, materialId);
    return Object.fromEntries(read?.levels.map(({ locationId, quantity }) => [locationId, quantity]) ?? []);
  };
  const ledgerOf = async (): Promise<{ op_id: string; sequence: string; applied: string; clamped: boolean }[]> => {
    const { rows } = await database.raw<{ rows: never[] }>(
      'SELECT op_id, sequence, applied, clamped FROM ledger WHERE shop_id = ? ORDER BY level_id, sequence',
      [shop.shopId],
    );
    return rows;
  };
  const executed = (outcome: OperationOutcome | undefined) => (outcome?.status === 'executed' ? outcome : undefined);

  afterEach(async () => {
    const { mismatches } = await checkLedger(database, { shopId: shop.shopId });
    expect(mismatches).to.deep.equal([]);
  });

  it('books rows in order, each seeing what the one before it left', async () => {
    const operation = adjust(
      { locationId: here, delta: toMicros(5) },
      { locationId: here, delta: toMicros(-7) },
      { locationId: here, absolute: toMicros(2.5) },
      { locationId: there, delta: toMicros(0.000001) },
    );
    const [outcome] = await outcomesOf(operation);
    expect(outcome).to.deep.equal({
      status: 'executed',
      result: { kind: 'adjusted', rowCount: 4, failures: [] },
      replayed: false,
    });
    expect(await levelsNow()).to.deep.equal({ [here]: 2.5, [there]: 0.000001 });
    const ledger = await ledgerOf();
    expect(ledger.map(({ sequence, applied, clamped }) => [sequence, applied, clamped])).to.deep.equal([
      ['1', '5.000000', false],
      ['2', '-5.000000', true],
      ['3', '2.500000', false],
      ['1', '0.000001', false],
    ]);
    expect((await findMaterial(database, shop.shopId, materialId))?.inventoryQuantity).to.equal(2.500001);
  });

  it('books the good rows of a batch beside its failed ones', async () => {
    const [outcome] = await outcomesOf(
      adjust({ locationId: here, delta: toMicros(1) }, { locationId: 'nowhere', delta: toMicros(1) }),
    );
    expect(executed(outcome)?.result).to.deep.include({ kind: 'adjusted', rowCount: 2 });
    expect(executed(outcome)?.result).to.have.nested.property('failures[0].code', 'NOT_FOUND');
    expect(await levelsNow()).to.deep.equal({ [here]: 1 });
  });

  it('applies an operation once, however often it is delivered, alone or twice in one cycle', async () => {
    const operation = book(here, 3);
    await apply(operation, operation);
    await apply(operation);
    expect(await levelsNow()).to.deep.equal({ [here]: 3 });
    expect(await ledgerOf()).to.have.length(1);
  });

  it('never applies what was cancelled', async () => {
    const operation = book(here, 3);
    const { outcomes } = await cancelOperations(database, [{ ...shop, materialId, id: operation.id }]);
    expect(outcomes.get(operation.id)).to.deep.equal({ status: 'cancelled' });
    expect(await outcomesOf(operation)).to.deep.equal([{ status: 'cancelled' }]);
    expect(await levelsNow()).to.deep.equal({});
  });

  it('does not cancel what was executed, and answers it', async () => {
    const operation = book(here, 3);
    await apply(operation);
    const { outcomes } = await cancelOperations(database, [{ ...shop, materialId, id: operation.id }]);
    expect(executed(outcomes.get(operation.id))).to.not.equal(undefined);
  });

  it('never applies what was cancelled before its material was created', async () => {
    materialId = 'VMAT-VAR-later';
    const operation = book(here, 3);
    await cancelOperations(database, [{ ...shop, materialId, id: operation.id }]);
    await createMaterials(database, shop.shopId, [{ id: materialId, origin: 'virtual', productName: 'Later' }]);
    expect(await outcomesOf(operation)).to.deep.equal([{ status: 'cancelled' }]);
    expect(await levelsNow()).to.deep.equal({});
  });

  it('rolls the whole cycle back where another writer records one of its operations meanwhile', async () => {
    // The worker has read that X is not on record; then a cancel of X commits; then the worker writes.
    const [cancelled, other] = [book(here, 3), book(here, 4)];
    const raced = racingDatabase(database, () =>
      recordCancelled(database, { shopId: shop.shopId, materialId, id: cancelled.id }),
    );
    const groups = [{ shopId: shop.shopId, materialId, operations: [cancelled, other] }];
    const failure: unknown = await applyOperations(raced, groups, { nowMs: Date.now }).catch((error: unknown) => error);
    expect(failure).to.have.property('constraint', 'operations_pkey');
    expect(await levelsNow()).to.deep.equal({});
    const again = await outcomesOf(cancelled, other);
    expect(again.map((outcome) => outcome?.status)).to.deep.equal(['cancelled', 'executed']);
    expect(await levelsNow()).to.deep.equal({ [here]: 4 });
  });

  it('leaves out a material that another session holds, and applies its neighbours', async () => {
    const second = await createTestShop(database);
    const [free, held] = [book(here, 1), book(here, 2)];
    await database.transaction(async (transaction) => {
      await transaction.raw('SELECT 1 FROM stock WHERE shop_id = ? AND material_id = ? FOR UPDATE', [
        shop.shopId,
        materialId,
      ]);
      const { outcomes, leftOut } = await applyOperations(
        database,
        [
          { shopId: shop.shopId, materialId, operations: [held] },
          { shopId: second.shopId, materialId: second.materialIds[0] ?? '', operations: [free] },
        ],
        { nowMs: Date.now },
      );
      expect(leftOut.map(({ shopId }) => shopId)).to.deep.equal([shop.shopId]);
      expect([...outcomes.keys()]).to.deep.equal([free.id]);
      const settled = await cancelOperations(database, [{ ...shop, materialId, id: held.id }]);
      expect(settled.leftOut).to.deep.equal([{ shopId: shop.shopId, materialId }]);
      expect(settled.outcomes.size).to.equal(0);
    });
    expect(await levelsNow()).to.deep.equal({});
  });

  it('answers a material that does not exist as not found, on record', async () => {
    const missing = 'VMAT-VAR-missing';
    const operation = book(here, 1);
    const groups = [{ shopId: shop.shopId, materialId: missing, operations: [operation] }];
    for (const attempt of [1, 2]) {
      const { outcomes } = await applyOperations(database, groups, { nowMs: Date.now });
      expect(executed(outcomes.get(operation.id))?.result, `attempt ${attempt}`).to.include({
        kind: 'rejected',
        code: 'NOT_FOUND',
      });
    }
  });

  it('does not apply what was accepted more than ten minutes ago, or in the future', async () => {
    for (const offsetMs of [-operationExpiryMs - 1, operationExpiryMs + 60_000]) {
      const operation = { ...book(here, 1), acceptedAtMs: Date.now() + offsetMs };
      expect(await outcomesOf(operation)).to.deep.equal([{ status: 'expired' }]);
    }
    expect(await levelsNow()).to.deep.equal({});
  });

  describe('with an idempotency key', () => {
    const key = (scope: string, requestHash = 'aa') => ({ idempotency: { scope, requestHash } });
    const keyed = (units: number, scope: string, hash?: string) => ({ ...book(here, units), ...key(scope, hash) });

    it('replays the first execution to its twins, in the same cycle and later', async () => {
      const twins = [keyed(3, '01'), keyed(3, '01')];
      const outcomes = await outcomesOf(...twins);
      expect(outcomes.map((outcome) => executed(outcome)?.replayed)).to.deep.equal([false, true]);
      const [later] = await outcomesOf(keyed(3, '01'));
      expect(executed(later)?.replayed).to.equal(true);
      expect(await levelsNow()).to.deep.equal({ [here]: 3 });
      expect(await findOutcomes(database, [twins[1]?.id ?? ''])).to.have.nested.property('size', 1);
    });

    it('refuses the key for another request', async () => {
      await apply(keyed(3, '02'));
      expect(await outcomesOf(keyed(4, '02', 'bb'))).to.deep.equal([{ status: 'key-reused' }]);
      expect(await levelsNow()).to.deep.equal({ [here]: 3 });
    });

    it('runs afresh after an attempt that was cancelled, failed or expired', async () => {
      const [cancelled, failed] = [keyed(1, '03'), keyed(1, '03')];
      await cancelOperations(database, [{ ...shop, materialId, id: cancelled.id }]);
      await recordFailed(database, [{ ...shop, materialId, id: failed.id }]);
      const expired = { ...keyed(1, '03'), acceptedAtMs: 0 };
      const outcomes = await outcomesOf(cancelled, failed, expired, keyed(1, '03'));
      expect(outcomes.map((outcome) => outcome?.status)).to.deep.equal(['cancelled', 'failed', 'expired', 'executed']);
      expect(executed(outcomes[3])?.replayed).to.equal(false);
      expect(await levelsNow()).to.deep.equal({ [here]: 1 });
    });

    it('has forgotten the key when its memory has run out, and knows it again once it has run afresh', async () => {
      await apply(keyed(3, '04'));
      await database.raw(`UPDATE operations SET recorded_at = recorded_at - interval '24 hours' WHERE shop_id = ?`, [
        shop.shopId,
      ]);
      const [afresh] = await outcomesOf(keyed(3, '04'));
      expect(executed(afresh)?.replayed).to.equal(false);
      const [repeated] = await outcomesOf(keyed(3, '04'));
      expect(executed(repeated)?.replayed).to.equal(true);
      expect(await levelsNow()).to.deep.equal({ [here]: 6 });
    });
  });

  describe('with a field update', () => {
    const update = (changes: object) => operationOf({ kind: 'update', changes });

    it('changes only what was sent and answers the state after the commit', async () => {
      const [outcome] = await outcomesOf(update({ sku: 'S-1', unitCost: 1.25, vendor: null }));
      const result = executed(outcome)?.result;
      const material = await findMaterial(database, shop.shopId, materialId);
      expect(result).to.deep.equal({ kind: 'updated', material, version: 2 });
      expect(material).to.include({ sku: 'S-1', unitCost: 1.25, vendor: null, productName: `Material ${materialId}` });
    });

    it('books a written total at the default location, through the ledger', async () => {
      const [, outcome] = await outcomesOf(book(there, 4), update({ inventoryQuantity: toMicros(10) }));
      expect(executed(outcome)?.result).to.have.nested.property('material.inventoryQuantity', 10);
      expect(await levelsNow()).to.deep.equal({ [here]: 6, [there]: 4 });
      expect(await ledgerOf()).to.have.length(2);
    });

    it('changes none of the fields where the total cannot be booked', async () => {
      const [, outcome] = await outcomesOf(book(there, 4), update({ inventoryQuantity: toMicros(3), sku: 'S-2' }));
      expect(executed(outcome)?.result).to.include({ kind: 'rejected', code: 'INVALID_INPUT' });
      await updateShop(database, shop.shopId, { defaultLocationId: null });
      const [without] = await outcomesOf(update({ inventoryQuantity: toMicros(5), sku: 'S-2' }));
      expect(executed(without)?.result).to.include({ kind: 'rejected', code: 'INVALID_INPUT' });
      expect((await findMaterial(database, shop.shopId, materialId))?.sku).to.equal(null);
      expect(await levelsNow()).to.deep.equal({ [there]: 4 });
    });

    it('sees the updates before it in the same cycle', async () => {
      const [, second] = await outcomesOf(update({ sku: 'first' }), update({ unit: 'kg' }));
      expect(executed(second)?.result).to.have.nested.property('material.sku', 'first');
      expect(await findMaterial(database, shop.shopId, materialId)).to.include({ sku: 'first', unit: 'kg' });
    });
  });

  it('deletes operations by age, batch by batch, and never the ledger', async () => {
    const operations = [book(here, 1), book(here, 1), book(here, 1)];
    const ids = operations.map(({ id }) => id);
    await apply(...operations);
    const young = await pruneOperations(database, { keptMs: 60_000, batchSize: 1_000 });
    expect(young.isFull).to.equal(false);
    expect(await findOutcomes(database, ids)).to.have.property('size', 3);
    // A negative age, so that all of them are old enough; what other tests left goes with them.
    const age = { keptMs: -60_000, batchSize: 2 };
    let batch = await pruneOperations(database, age);
    expect(batch).to.have.property('last').that.is.a('string');
    expect(batch.isFull).to.equal(true);
    while (batch.isFull) batch = await pruneOperations(database, { ...age, after: batch.last });
    expect(await findOutcomes(database, ids)).to.have.property('size', 0);
    expect(await ledgerOf()).to.have.length(3);
  });
});

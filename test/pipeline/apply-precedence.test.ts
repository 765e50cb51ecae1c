import { expect } from 'chai';
import { openingQueries } from '../../shared/database/apply-read.js';
import { readSnapshot } from '../../shared/database/apply-snapshot.js';
import { createMaterials } from '../../shared/database/create-materials.js';
import { findMaterial } from '../../shared/database/materials.js';
import { findOutcomes } from '../../shared/database/operations.js';
import { pipelinedTransaction } from '../../shared/database/pipelined-transaction.js';
import type { Operation, OperationOutcome } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { keyMemoryMsDefault, operationExpiryMs } from '../../shared/inventory/time-limits.js';
import { totalOf } from '../support/shop/change.js';
import { useDatabase } from '../support/database/database.js';
import { racingDatabase, recordCancelled } from '../support/database/racing-database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

describe('what the apply step looks at before the rules', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });
  let shop: TestShop;
  beforeEach(async () => (shop = await createTestShop(postgres.database)));

  const book = (units: number, more: Partial<Operation> = {}) =>
    operationOf({ kind: 'adjust', rows: [{ locationId: shop.locationIds[0] ?? '', delta: toMicros(units) }] }, more);
  const apply = async (materialId: string, ...operations: Operation[]): Promise<(OperationOutcome | undefined)[]> => {
    const groups = [{ shopId: shop.shopId, materialId, operations }];
    const { outcomes } = await applyOperations(postgres.database, groups, { nowMs: Date.now });
    return operations.map(({ id }) => outcomes.get(id));
  };

  it('is the key: also an attempt that came too late to run by itself is answered what the first did', async () => {
    const [materialId = ''] = shop.materialIds;
    const idempotency = { scope: '05', requestHash: 'aa' };
    await apply(materialId, book(3, { idempotency }));
    const tooLate = Date.now() - operationExpiryMs - 1;
    const [late] = await apply(materialId, book(3, { idempotency, acceptedAtMs: tooLate }));
    expect(late).to.deep.include({ status: 'executed', replayed: true });
    expect(await totalOf(postgres.database, shop)).to.equal(3);
  });

  it('is the key for as long as it is remembered when an attempt is accepted, however long that has waited', async () => {
    const [materialId = ''] = shop.materialIds;
    const idempotency = { scope: '09', requestHash: 'aa' };
    const first = book(3, { idempotency });
    await apply(materialId, first);
    const age = keyMemoryMsDefault + 60_000;
    await postgres.database.raw(
      "UPDATE operations SET recorded_at = recorded_at - ? * interval '1 millisecond' WHERE op_id = ?",
      [age, first.id],
    );
    const waited = book(3, { idempotency, acceptedAtMs: Date.now() - 120_000 });
    const [late, afresh] = await apply(materialId, waited, book(3, { idempotency }));
    expect(late).to.deep.include({ status: 'executed', replayed: true });
    expect(afresh, 'decided with the other').to.deep.include({ status: 'executed', replayed: false });
    expect(await totalOf(postgres.database, shop)).to.equal(6);
  });

  it('is the key also of what was executed while the clock of Postgres was months ahead', async () => {
    const [materialId = ''] = shop.materialIds;
    const idempotency = { scope: '11', requestHash: 'aa' };
    const first = book(3, { idempotency });
    await apply(materialId, first);
    const ahead = "UPDATE operations SET recorded_at = now() + interval '60 days' WHERE op_id = ?";
    await postgres.database.raw(ahead, [first.id]);
    const [replayed] = await apply(materialId, book(3, { idempotency }));
    expect(replayed).to.deep.include({ status: 'executed', replayed: true });
  });

  it('is the key also where the worker itself has waited meanwhile, as for a connection', async () => {
    const [materialId = ''] = shop.materialIds;
    const idempotency = { scope: '10', requestHash: 'aa' };
    const first = book(3, { idempotency });
    await apply(materialId, first);
    const repeat = book(3, { idempotency, acceptedAtMs: Date.now() });
    await postgres.database.raw(
      "UPDATE operations SET recorded_at = now() - (? - 1000) * interval '1 millisecond' WHERE op_id = ?",
      [keyMemoryMsDefault, first.id],
    );
    const held = [1, 2].map(() => postgres.database.raw('SELECT pg_sleep(2)').then(() => undefined));
    const [replayed] = await apply(materialId, repeat);
    expect(replayed).to.deep.include({ status: 'executed', replayed: true });
    await Promise.all(held);
    expect(await totalOf(postgres.database, shop)).to.equal(3);
  });

  it('is the key, whatever was asked with it in between, in one cycle', async () => {
    const [materialId = ''] = shop.materialIds;
    const asked = (requestHash: string) => book(3, { idempotency: { scope: 'a1', requestHash } });
    await apply(materialId, asked('aa'));
    for (const hashes of [
      ['aa', 'bb', 'aa'],
      ['bb', 'aa', 'bb'],
    ]) {
      const outcomes = await apply(materialId, ...hashes.map(asked));
      const statuses = hashes.map((hash) => (hash === 'aa' ? 'executed' : 'key-reused'));
      expect(outcomes.map((outcome) => outcome?.status)).to.deep.equal(statuses);
    }
    expect(await totalOf(postgres.database, shop)).to.equal(3);
  });

  it('is read of the key without what the first did, where that is of no use: it may have a megabyte', async () => {
    const [materialId = ''] = shop.materialIds;
    const first = book(3, { idempotency: { scope: 'a2', requestHash: 'aa' } });
    const [outcome] = await apply(materialId, first);
    const read = async (...hashes: string[]) => {
      const question = {
        materials: [{ shopId: shop.shopId, materialId }],
        levels: [],
        updated: [],
        operationIds: [],
        keys: hashes.map((requestHash) => ({ scope: 'a2', requestHash })),
        keyAgeMsMax: 3_600_000,
      };
      const snapshot = await pipelinedTransaction(postgres.database, openingQueries(question), (answers) => ({
        writing: [],
        conclude: () => readSnapshot(question, answers),
      }));
      const { ageMs, ...executed } = snapshot.executedByScope.get('a2') ?? expect.fail('it was not found');
      expect(ageMs).to.be.within(0, 3_600_000);
      return executed;
    };
    const result = outcome?.status === 'executed' ? outcome.result : expect.fail('it was not executed');
    const found = { operationId: first.id, requestHash: 'aa' };
    expect(await read('bb')).to.deep.equal({ ...found, result: undefined });
    for (const hashes of [['aa'], ['aa', 'bb'], ['bb', 'aa']]) {
      expect(await read(...hashes), hashes.join()).to.deep.equal({ ...found, result });
    }
  });

  it('is what stands on record: a replay stays one for who looks it up, and where its job comes again', async () => {
    // For a material that does not exist, the record is written without a lock, and therefore read again.
    for (const [materialId = '', scope] of [
      [shop.materialIds[0], '06'],
      ['VMAT-VAR-missing', '07'],
    ] as const) {
      const [first, twin] = [1, 2].map(() => book(3, { idempotency: { scope, requestHash: 'aa' } }));
      if (first === undefined || twin === undefined) throw new Error('two were made');
      const [executed] = await apply(materialId, first);
      const replay = { ...executed, replayed: true };
      expect(await apply(materialId, twin), materialId).to.deep.equal([replay]);
      expect((await findOutcomes(postgres.database, [twin.id])).get(twin.id), 'looked up').to.deep.equal(replay);
      expect(await apply(materialId, twin), 'once more').to.deep.equal([replay]);
    }
  });

  it('is who came first, also for a material that is not there to be locked', async () => {
    const [materialId, operation] = ['VMAT-VAR-missing', book(1)];
    // The worker has read that it is not on record; then it is cancelled; then the worker writes.
    const raced = racingDatabase(postgres.database, () =>
      recordCancelled(postgres.database, { shopId: shop.shopId, materialId, id: operation.id }),
    );
    const groups = [{ shopId: shop.shopId, materialId, operations: [operation] }];
    const { outcomes } = await applyOperations(raced, groups, { nowMs: Date.now });
    expect(outcomes.get(operation.id)).to.deep.equal({ status: 'cancelled' });
  });

  describe('is one answer for a key, also if somebody else decides the first of its twins before it is written', () => {
    const materialId = 'VMAT-VAR-missing';
    const keyed = (requestHash = 'aa') => book(3, { idempotency: { scope: '08', requestHash } });
    const cancel = ({ id }: Operation) => recordCancelled(postgres.database, { shopId: shop.shopId, materialId, id });
    const decided = async (meanwhile: (first: Operation) => Promise<void>, told: [property: string, value: string]) => {
      const [first, twin, other, later] = [keyed(), keyed(), keyed('bb'), keyed()];
      const groups = [{ shopId: shop.shopId, materialId, operations: [first, twin, other] }];
      const raced = racingDatabase(postgres.database, () => meanwhile(first));
      const lost: unknown = await applyOperations(raced, groups, { nowMs: Date.now }).catch((error: unknown) => error);
      expect(lost, 'told before it was known').to.have.property(...told);
      const outcomes = [...(await apply(materialId, first, twin, other)), ...(await apply(materialId, later))];
      return outcomes.map((outcome) => {
        if (outcome?.status !== 'executed') return outcome?.status;
        return outcome.result.kind === 'rejected' ? outcome.result.code : outcome.result.kind;
      });
    };
    afterEach(() => postgres.database.raw(`DELETE FROM operations WHERE key_scope = '\\x08'`));

    it('where it was cancelled, the key is remembered for the twin', async () => {
      expect(await decided(cancel, ['constraint', 'operations_pkey'])).to.deep.equal([
        'cancelled',
        'NOT_FOUND',
        'key-reused',
        'NOT_FOUND',
      ]);
    });

    for (const [hash, told] of [
      ['bb', 'that its key is taken'],
      ['aa', 'what it did'],
    ]) {
      it(`where it was cancelled, nobody is told ${told}`, async () => {
        const [first, other] = [keyed(), keyed(hash)];
        const groups = [{ shopId: shop.shopId, materialId, operations: [first, other] }];
        const raced = racingDatabase(postgres.database, () => cancel(first));
        const applied = applyOperations(raced, groups, { nowMs: Date.now });
        const lost: unknown = await applied.catch((error: unknown) => error);
        expect(lost).to.have.property('constraint', 'operations_pkey');
        const again = await apply(materialId, first, other);
        expect(again.map((outcome) => outcome?.status)).to.deep.equal(['cancelled', 'executed']);
      });
    }

    it('where another worker has recorded the twin as one, that is answered what the first was', async () => {
      const [first, twin] = [keyed(), keyed()];
      const raced = racingDatabase(postgres.database, () => apply(materialId, first, twin).then(() => undefined));
      const groups = [{ shopId: shop.shopId, materialId, operations: [twin] }];
      const { outcomes } = await applyOperations(raced, groups, { nowMs: Date.now });
      expect(outcomes.get(twin.id)).to.have.nested.property('result.code', 'NOT_FOUND');
    });

    it('where the material was created and it was applied, no twin is told that there is none', async () => {
      const createAndApply = async (first: Operation) => {
        const created = { id: materialId, origin: 'virtual', productName: 'Since then' } as const;
        await createMaterials(postgres.database, shop.shopId, [created]);
        await apply(materialId, first);
      };
      expect(await decided(createAndApply, ['code', '40001'])).to.deep.equal([
        'adjusted',
        'adjusted',
        'key-reused',
        'adjusted',
      ]);
      expect(await totalOf(postgres.database, shop, materialId)).to.equal(3);
    });
  });

  it('is whose the material is: neither stock nor fields of a platform material change, whoever asks', async () => {
    const id = '4711';
    await createMaterials(postgres.database, shop.shopId, [
      { id, origin: 'platform', productName: 'Theirs', mirroredQuantity: toMicros(7) },
    ]);
    const before = await findMaterial(postgres.database, shop.shopId, id);
    const changes = { productName: 'Ours', inventoryQuantity: toMicros(1) };
    for (const outcome of await apply(id, book(1), operationOf({ kind: 'update', changes }))) {
      expect(outcome).to.have.nested.property('result.code', 'INVALID_INPUT');
    }
    expect(await findMaterial(postgres.database, shop.shopId, id)).to.deep.equal(before);
  });
});

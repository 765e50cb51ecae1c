import { expect } from 'chai';
import type { Operation } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { queueName } from '../../shared/queue/names.js';
import { createWorkerMetrics } from '../../worker/worker-metrics.js';
import { applyAsLane } from '../support/shop/apply-as-lane.js';
import { totalOf } from '../support/shop/change.js';
import { useDatabase } from '../support/database/database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';

/**
 * Postgres ends a statement of a cycle after three seconds. One that books more weight than it may takes four, whatever
 * the machine is busy with, and any other takes no time of its own: nothing comes near the bound.
 */
const [weightMax, tooLongSeconds] = [1, 4];
const [half, tooMuch] = [1, 2];

describe('a transaction of a cycle that takes longer than it may', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });
  let shop: TestShop;

  before(async () => {
    await postgres.database.raw(`
      CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_sleep(${String(tooLongSeconds)})
          FROM entered HAVING sum(CAST(reference AS integer)) > ${String(weightMax)};
        RETURN NULL;
      END $$;
      CREATE TRIGGER take_time AFTER INSERT ON ledger REFERENCING NEW TABLE AS entered
      FOR EACH STATEMENT EXECUTE FUNCTION take_time()`);
  });
  beforeEach(async () => (shop = await createTestShop(postgres.database, { materials: 4 })));

  /** An operation that adds one, and has this weight; one that is no number is a fault of its own. */
  const book = (weight: number | 'poison' = 0): Operation => {
    const row = { locationId: shop.locationIds[0] ?? '', delta: toMicros(1), reference: String(weight) };
    return operationOf({ kind: 'adjust', rows: [row] });
  };
  const ref = (index: number) => ({ shopId: shop.shopId, materialId: shop.materialIds[index] ?? '' });
  const totals = () => Promise.all(shop.materialIds.map((id) => totalOf(postgres.database, shop, id)));

  const apply = (operations: Operation[][], more?: Parameters<typeof applyAsLane>[2]) =>
    applyAsLane(
      postgres.database,
      operations.map((each, index) => ({ ...ref(index), operations: each })),
      more,
    );

  it('is done in parts: each material, and each operation of one, that does not overstay by itself', async () => {
    const operations = [[book(half), book(half)], [book()], [book(), book()]];
    const metrics = createWorkerMetrics();
    const { outcomes, leftOut } = await apply(operations, { metrics });
    expect([...leftOut]).to.deep.equal([]);
    expect(operations.flat().map(({ id }) => outcomes.get(id)?.status)).to.deep.equal(Array(5).fill('executed'));
    expect(await totals()).to.deep.equal([2, 1, 2, 0]);
    // What was committed is counted, not what was begun: two materials, and two operations of a third by themselves.
    const counted = await metrics.registry.metrics();
    for (const size of ['jobs', 'materials', 'duration_seconds'])
      expect(counted).to.match(new RegExp(`^raw_materials_transaction_${size}_count 4$`, 'm'));
    for (const size of ['jobs', 'materials'])
      expect(counted).to.match(new RegExp(`^raw_materials_transaction_${size}_sum 4$`, 'm'));
  });

  it('leaves out what overstays alone, and what comes after it on its material; nobody else', async () => {
    const operations = [[book()], [book(), book(tooMuch), book()], [book()]];
    const { outcomes, leftOut } = await apply(operations);
    expect([...leftOut]).to.deep.equal([queueName(ref(1))]);
    expect(await totals()).to.deep.equal([1, 1, 1, 0]);
    for (const index of [0, 2]) expect(outcomes.get(operations[index]?.[0]?.id ?? '')?.status).to.equal('executed');
  });

  it('leaves out what overstays alone beside one that cannot be applied, and that one is recorded as failed', async () => {
    const operations = [[book(), book(tooMuch), book()], [book('poison'), book()], [book()]];
    const { outcomes, leftOut } = await apply(operations);
    expect([...leftOut]).to.deep.equal([queueName(ref(0))]);
    const statuses = operations.slice(1).map((each) => each.map(({ id }) => outcomes.get(id)?.status));
    expect(statuses).to.deep.equal([['failed', 'executed'], ['executed']]);
    expect(await totals()).to.deep.equal([1, 1, 1, 0]);
  });

  it('is given back whole by a lane that stops', async () => {
    const ended = await apply([[book(tooMuch)], [book()]], { isStopping: () => true }).catch((error: unknown) => error);
    expect(ended).to.have.property('code', '57014');
    expect(await totals()).to.deep.equal([0, 0, 0, 0]);
  });

  it('is not begun once the cycle has lasted too long: what is left comes again', async () => {
    const { outcomes, leftOut } = await apply([[book()], [book()]], { endMs: performance.now() });
    expect([...leftOut]).to.deep.equal([queueName(ref(0)), queueName(ref(1))]);
    expect(outcomes.size).to.equal(0);
    expect(await totals()).to.deep.equal([0, 0, 0, 0]);
  });

  it('is none where somebody holds the fields of a material: that one is left out', async () => {
    const update = () => operationOf({ kind: 'update', changes: { sku: 'S' } });
    const operations = [[update()], [book()], [update()]];
    const metrics = createWorkerMetrics();
    const result = await postgres.database.transaction(async (other) => {
      const { shopId, materialId } = ref(0);
      await other.raw('SELECT 1 FROM materials WHERE shop_id = ? AND id = ? FOR NO KEY UPDATE', [shopId, materialId]);
      return apply(operations, { metrics });
    });
    expect([...result.leftOut]).to.deep.equal([queueName(ref(0))]);
    const statuses = operations.flat().map(({ id }) => result.outcomes.get(id)?.status);
    expect(statuses).to.deep.equal([undefined, 'executed', 'executed']);
    const counted = await metrics.registry.metrics();
    for (const size of ['jobs', 'materials'])
      expect(counted).to.match(new RegExp(`^raw_materials_transaction_${size}_sum 2$`, 'm'));
  });

  it('is none where somebody refers to a material, as who adds it to a bill: nor is that one left out', async () => {
    const operation = operationOf({ kind: 'update', changes: { sku: 'S', inventoryQuantity: toMicros(1) } });
    const { outcomes, leftOut } = await postgres.database.transaction(async (other) => {
      const { shopId, materialId } = ref(0);
      for (const [table, id] of Object.entries({ stock: 'material_id', materials: 'id' })) {
        await other.raw('SELECT 1 FROM ?? WHERE shop_id = ? AND ?? = ? FOR KEY SHARE', [table, shopId, id, materialId]);
      }
      return apply([[operation]]);
    });
    expect([...leftOut]).to.deep.equal([]);
    expect(outcomes.get(operation.id)?.status).to.equal('executed');
  });

  describe('is none where somebody holds a location', () => {
    /** Of a material each: a booking there, one elsewhere, two changes of fields, of which the last writes a total. */
    const changes = (): Operation[][] => [
      [book()],
      [operationOf({ kind: 'adjust', rows: [{ locationId: shop.locationIds[1] ?? '', delta: toMicros(1) }] })],
      [operationOf({ kind: 'update', changes: { sku: 'S' } })],
      [operationOf({ kind: 'update', changes: { inventoryQuantity: toMicros(1) } })],
    ];
    const applyBesideHolder = (operations: Operation[][]) =>
      postgres.database.transaction(async (other) => {
        const place = [shop.shopId, shop.locationIds[0] ?? ''];
        await other.raw('SELECT 1 FROM locations WHERE shop_id = ? AND id = ? FOR UPDATE', place);
        return apply(operations);
      });

    it('what would make a first level there is left out, and comes again', async () => {
      const operations = changes();
      const { outcomes, leftOut } = await applyBesideHolder(operations);
      expect([...leftOut]).to.deep.equal([queueName(ref(0)), queueName(ref(3))]);
      expect(operations.flat().map(({ id }) => outcomes.get(id)?.status)).to.deep.equal([
        undefined,
        'executed',
        'executed',
        undefined,
      ]);
      expect([...(await apply(operations)).leftOut]).to.deep.equal([]);
      expect(await totals()).to.deep.equal([1, 1, 0, 1]);
    });

    it('nor is anything left out that has its level there', async () => {
      await apply(shop.materialIds.map(() => [book()]));
      const { leftOut } = await applyBesideHolder(changes());
      expect([...leftOut]).to.deep.equal([]);
    });
  });

  it('leaves out as many as wait for another session, and each beside them is still done in the time of the cycle', async () => {
    const { shopId, materialIds } = (shop = await createTestShop(postgres.database, { materials: 16 }));
    const waits = (index: number) => index % 2 === 0;
    const update = () => operationOf({ kind: 'update', changes: { vendor: 'Held' } });
    const operations = materialIds.map((_, index) => [waits(index) ? update() : book()]);
    const { outcomes, leftOut } = await postgres.database.transaction(async (other) => {
      await other.raw(`SELECT facet_of(?, 'Held', 'virtual', false)`, [shopId]);
      return apply(operations);
    });
    expect([...leftOut].toSorted()).to.deep.equal(
      materialIds.flatMap((_, index) => (waits(index) ? [queueName(ref(index))] : [])).toSorted(),
    );
    expect([...outcomes.values()].map(({ status }) => status)).to.deep.equal(Array(8).fill('executed'));
    expect([...(await apply(operations)).leftOut]).to.deep.equal([]);
  });

  it('is none where somebody holds the shop: nothing that a change needs refers to its row', async () => {
    const operations = [
      [operationOf({ kind: 'update', changes: { vendor: 'A new one' } })],
      [book()],
      [operationOf({ kind: 'update', changes: { inventoryQuantity: toMicros(1), vendor: 'Another' } })],
    ];
    const { outcomes, leftOut } = await postgres.database.transaction(async (other) => {
      await other.raw('SELECT 1 FROM shops WHERE id = ? FOR UPDATE', [shop.shopId]);
      return apply(operations);
    });
    expect([...leftOut]).to.deep.equal([]);
    expect(operations.flat().map(({ id }) => outcomes.get(id)?.status)).to.deep.equal(Array(3).fill('executed'));
  });
});

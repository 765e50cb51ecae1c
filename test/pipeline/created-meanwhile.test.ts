import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import type { Operation, OperationOutcome } from '../../shared/domain/operation.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { importMaterials } from '../../shared/manage/import-materials.js';
import { totalOf } from '../support/shop/change.js';
import { useDatabase } from '../support/database/database.js';
import { racingDatabase } from '../support/database/racing-database.js';
import { createTestShop, operationOf } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/time/until.js';

const materialId = 'VMAT-VAR-later';
const idempotency = { scope: '09', requestHash: 'aa' };

/** Two workers hold a material, one of them after its lease is lost, and each has a request with the same key. */
describe('twins of a key in two workers, while an import creates their material', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });
  let shop: TestShop;
  let importing: Database;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  before(async () => {
    importing = connectDatabase({ url: postgres.url, poolMax: 3, applicationName: 'import' });
    folder = await temporaryFolder();
  });
  beforeEach(async () => (shop = await createTestShop(postgres.database)));
  afterEach(() => postgres.database.raw(`DELETE FROM operations WHERE key_scope = '\\x09'`));
  after(async () => {
    await importing.destroy();
    await folder.remove();
  });

  const twin = () =>
    operationOf(
      { kind: 'adjust', rows: [{ locationId: shop.locationIds[0] ?? '', delta: toMicros(3) }] },
      { idempotency },
    );
  const groupsOf = (operation: Operation) => [{ shopId: shop.shopId, materialId, operations: [operation] }];
  async function apply(operation: Operation, database = postgres.database): Promise<OperationOutcome | undefined> {
    return (await applyOperations(database, groupsOf(operation), { nowMs: Date.now })).outcomes.get(operation.id);
  }
  async function create(): Promise<void> {
    const path = join(folder.path, `${shop.shopId}.jsonl`);
    await writeFile(path, JSON.stringify({ id: materialId, productName: 'Later' }));
    const { shopId, locationIds } = shop;
    const target = { locationIds: new Set(locationIds), defaultLocationId: null };
    const job = { shopId, shop: target, path, format: 'jsonl', skipBad: false } as const;
    const outcome = await importMaterials(importing, job, () => undefined);
    expect(outcome).to.have.nested.property('value.imported', 1);
  }

  it('get one answer where it commits, and one of them is applied, before the other writes that there is none', async () => {
    const [first, second] = [twin(), twin()];
    const raced = racingDatabase(postgres.database, async () => {
      await create();
      expect(await apply(second)).to.deep.include({ status: 'executed', replayed: false });
    });
    const lost: unknown = await apply(first, raced).catch((error: unknown) => error);
    expect(lost, 'told that there is none').to.have.property('code', '40001');
    expect(await apply(first)).to.deep.include({ status: 'executed', replayed: true });
    expect(await totalOf(postgres.database, shop, materialId)).to.equal(3);
  });

  it('of which none creates it: the same operation in both is recorded once, and reported by one of them', async () => {
    const operation = twin();
    const reported: number[] = [];
    const applyOnce = async (database: Database) =>
      reported.push((await applyOperations(database, groupsOf(operation), { nowMs: Date.now })).records.length);
    await applyOnce(racingDatabase(postgres.database, () => applyOnce(postgres.database).then(() => undefined)));
    expect(reported).to.deep.equal([1, 0]);
  });

  it('get one answer where it would commit before the one that found none', async () => {
    const [first, second] = [twin(), twin()];
    const isWaiting = async () => {
      const { rows } = await postgres.database.raw<{ rows: unknown[] }>(
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'import' AND wait_event = 'advisory'`,
      );
      return rows.length > 0;
    };
    let created: Promise<void> | undefined;
    // The first has found none, and confirmed it; then the material is created.
    const raced = racingDatabase(
      postgres.database,
      async () => {
        created = create();
        await until(isWaiting, { deadlineMs: 10_000, what: 'the import to wait for the first' });
      },
      'confirm-absence',
    );
    expect(await apply(first, raced)).to.have.nested.property('result.code', 'NOT_FOUND');
    await created;
    expect(await apply(second)).to.deep.include({ status: 'executed', replayed: true });
    expect(await totalOf(postgres.database, shop, materialId)).to.equal(0);
  });
});

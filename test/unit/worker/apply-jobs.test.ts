import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import type { Operation } from '../../../shared/domain/operation.js';
import { toMicros } from '../../../shared/domain/quantity.js';
import { jobVersion } from '../../../shared/queue/job-format.js';
import { queueName } from '../../../shared/queue/names.js';
import { useDatabase } from '../../support/database/database.js';
import { answerOfMigrated, databaseWhose } from '../../support/redis/lane-deps.js';
import { applyAsLane } from '../../support/shop/apply-as-lane.js';
import { totalOf } from '../../support/shop/change.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';

/** With more, a job's operations are recorded as failed. */
const deliveriesMax = 25;

describe('the jobs of a cycle whose lane is to stop', () => {
  const refs = ['a', 'b', 'c'].map((id) => ({ shopId: 1, materialId: `VMAT-VAR-${id}` }));
  const change = () => operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] });
  const materials = (operations: () => Operation[]) => refs.map((ref) => ({ ...ref, operations: operations() }));
  const everything = refs.map(queueName);

  /** Tells how many transactions were begun, on a Postgres that fails each of them, for no fault of its own. */
  function failingPostgres() {
    let begun = 0;
    const acquireConnection = () => {
      begun += 1;
      return Promise.reject(new Error('a fault of ours'));
    };
    return { database: databaseWhose(acquireConnection), begun: () => begun };
  }

  it('are not applied one at a time after the transaction that failed: they come again', async () => {
    const { database, begun } = failingPostgres();
    const jobs = materials(() => [change(), change()]);
    const { outcomes, leftOut } = await applyAsLane(database, jobs, { isStopping: () => true });
    expect(begun()).to.equal(1);
    expect([...leftOut].toSorted()).to.deep.equal(everything);
    expect(outcomes.size).to.equal(0);
  });

  it('are not recorded as failed by one that is told to stop between the two tries of an operation', async () => {
    const { database, begun } = failingPostgres();
    const isStopping = () => begun() >= 2;
    const { leftOut } = await applyAsLane(
      database,
      materials(() => [change(), change()]),
      { isStopping },
    );
    expect(begun()).to.equal(2);
    expect([...leftOut].toSorted()).to.deep.equal(everything);
  });

  it('are not tried again once the cycle has lasted too long', async () => {
    const passing = Object.assign(new Error('deadlock detected'), { code: '40P01' });
    let begun = 0;
    const database = databaseWhose(() => {
      begun += 1;
      return Promise.reject(passing);
    });
    const tryBegin = () => begun === 0;
    const applied = applyAsLane(
      database,
      materials(() => [change()]),
      { tryBegin },
    );
    expect(await applied.catch((error: unknown) => error)).to.equal(passing);
    expect(begun).to.equal(1);
  });

  it('are not tried again where it took too long to ask whether Postgres takes writes', async () => {
    let [begun, isAsked] = [0, false];
    const overstayed = new Error('Query read timeout');
    const answering = databaseWhose(() => {
      begun += 1;
      return Promise.reject(overstayed);
    });
    const raw = (sql: string) => {
      isAsked = true;
      return answerOfMigrated(sql);
    };
    const applied = applyAsLane(
      Object.assign(answering, { raw }),
      materials(() => [change()]),
      { tryBegin: () => !isAsked },
    );
    expect(await applied.catch((error: unknown) => error)).to.equal(overstayed);
    expect([begun, isAsked]).to.deep.equal([1, true]);
  });

  for (const [until, limits, count] of [
    ['then', { isStopping: () => true }, 1],
    ['the cycle has lasted too long', { endMs: performance.now() }, 0],
  ] as const) {
    it(`of which the deliveries are exhausted are recorded as failed until ${until}; others come again`, async () => {
      let recorded = 0;
      const transaction = () => {
        recorded += 1;
        return Promise.reject(new Error('a fault of ours'));
      };
      const database = Object.assign(failingPostgres().database, { transaction });
      const { leftOut } = await applyAsLane(
        database,
        materials(() => [change()]),
        { ...limits, deliveries: deliveriesMax + 1 },
      );
      expect(recorded).to.equal(count);
      expect([...leftOut].toSorted()).to.deep.equal(everything);
    });
  }
});

describe('a job that is meant for another database', () => {
  const nowhere = databaseWhose(() => Promise.reject(new Error('nobody is asked')));
  for (const [what, { version, deliveries }] of [
    ['its deliveries are exhausted', { version: jobVersion, deliveries: deliveriesMax + 1 }],
    ['this worker does not know its version', { version: jobVersion + 1, deliveries: 1 }],
  ] as const) {
    it(`is told to its API, and not recorded as failed in this one, also where ${what}`, async () => {
      const operation = operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] });
      const material = { shopId: 1, materialId: 'VMAT-VAR-a', operations: [operation], version };
      const { outcomes, leftOut } = await applyAsLane(nowhere, [material], { isMisdirected: true, deliveries });
      expect([...outcomes]).to.deep.equal([[operation.id, { status: 'misdirected' }]]);
      expect(leftOut.size).to.equal(0);
    });
  }
});

describe('an operation that meets a fault of ours', () => {
  const postgres = useDatabase({ poolMax: 2, pipeline: true });

  it('is not failed where Postgres is, for a moment, at its second try alone: it comes again', async () => {
    const faults = ['a fault of ours', 'a fault of ours'].map((message) => new Error(message));
    const passing = Object.assign(new Error('deadlock detected'), { code: '40P01' });
    const database = databaseWhose(() => Promise.reject(faults.shift() ?? passing));
    const operation = operationOf({ kind: 'adjust', rows: [{ locationId: '1', delta: 1 }] });
    const material = { shopId: 1, materialId: 'VMAT-VAR-a', operations: [operation] };
    const thrown: unknown = await applyAsLane(database, [material]).catch((error: unknown) => error);
    expect(thrown).to.equal(passing);
  });

  for (const [faults, status] of [
    [2, 'executed'],
    [3, 'failed'],
  ] as const) {
    it(`is ${status} after ${faults}: once with others, and up to twice alone`, async () => {
      const shop = await createTestShop(postgres.database);
      const client = postgres.database.client as { acquireConnection: () => Promise<unknown> };
      let begun = 0;
      const acquireConnection = () => {
        begun += 1;
        return begun > faults ? client.acquireConnection() : Promise.reject(new Error('a fault of ours'));
      };
      const faulty: unknown = Object.create(client, { acquireConnection: { value: acquireConnection } });
      const database = Object.create(postgres.database, { client: { value: faulty } }) as Database;
      const rows = [{ locationId: shop.locationIds[0] ?? '', delta: toMicros(1) }];
      const operation = operationOf({ kind: 'adjust', rows });
      const material = { shopId: shop.shopId, materialId: shop.materialIds[0] ?? '', operations: [operation] };
      const { outcomes } = await applyAsLane(database, [material]);
      expect(outcomes.get(operation.id)).to.include({ status });
      expect(await totalOf(postgres.database, shop)).to.equal(faults === 2 ? 1 : 0);
    });
  }
});

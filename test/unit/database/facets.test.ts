import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import type { NewMaterial } from '../../../shared/database/create-materials.js';
import { groupsOf, readFacets } from '../../../shared/database/facets.js';
import type { ListFilters } from '../../../shared/database/facets.js';
import { facetsOfVendors } from '../../../shared/database/insert-materials-with-stock.js';
import { checkLists } from '../../../shared/database/list-check.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

const all: ListFilters = { usageFilter: 'all', originFilter: 'all', vendorFilter: [] };

describe('the counters of the list', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 6, pipeline: true });
  });
  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });
  beforeEach(async () => {
    ({ shopId } = await createTestShop(database, { materials: 0 }));
  });

  const virtual = (id: string, vendor?: string): NewMaterial => {
    return { id: `VMAT-${id}`, origin: 'virtual', productName: id, ...(vendor !== undefined && { vendor }) };
  };
  const bill = (id: string, ...names: string[]) => {
    const components = names.map((name) => ({ materialId: `VMAT-${name}`, quantity: 1_000_000 }));
    return { id, kind: 'bill_of_materials' as const, name: id, components };
  };
  const setVendor = (id: string, vendor: string | null) =>
    database.raw('UPDATE materials SET vendor = ? WHERE shop_id = ? AND id = ?', [vendor, shopId, `VMAT-${id}`]);
  const counted = async (filters: Partial<ListFilters> = {}) => readFacets(database, shopId, { ...all, ...filters });

  const untilWaiting = (sessions: number) =>
    until(
      async () => {
        const { rows } = await database.raw<{ rows: object[] }>(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows.length === sessions;
      },
      { deadlineMs: 10_000, what: `${sessions} to wait for another` },
    );

  const expectTrue = async () => expect((await checkLists(database)).mismatches).to.deep.equal([]);

  it('know what part the shop has of all materials, whatever is filtered, once the table is analysed', async () => {
    await createMaterials(database, shopId, [virtual('1', 'Acme'), virtual('2'), virtual('3')]);
    await database.raw('ANALYZE materials');
    const { rows } = await database.raw<{ rows: [{ count: string }] }>('SELECT count(*) FROM materials');
    const part = 3 / Number(rows[0].count);
    expect((await counted()).tablePart).to.be.closeTo(part, 1e-6);
    expect((await counted({ vendorFilter: ['Acme'], originFilter: 'platform' })).tablePart).to.be.closeTo(part, 1e-6);
  });

  it('count what is created, by every filter and all of them together', async () => {
    await createMaterials(database, shopId, [
      virtual('1', 'Acme'),
      virtual('2', 'acme'),
      virtual('3'),
      { id: '77', origin: 'platform', productName: 'p', vendor: 'Acme' },
    ]);
    await createBill(database, shopId, bill('b', '1', '3'));
    expect(await counted()).to.deep.include({
      matchedCount: 4,
      groupCount: 4,
      vendors: ['Acme', 'acme'],
    });
    const cases: [Partial<ListFilters>, number][] = [
      [{ usageFilter: 'used' }, 2],
      [{ usageFilter: 'unused' }, 2],
      [{ originFilter: 'platform' }, 1],
      [{ vendorFilter: ['Acme'] }, 2],
      [{ vendorFilter: ['Acme', 'acme', 'nobody'] }, 3],
      [{ vendorFilter: ['Acme'], originFilter: 'virtual', usageFilter: 'used' }, 1],
      [{ vendorFilter: ['acme'], usageFilter: 'used' }, 0],
    ];
    for (const [filters, count] of cases) {
      const { matchedCount, ids } = await counted(filters);
      expect(matchedCount, JSON.stringify(filters)).to.equal(count);
      expect(groupsOf({ ...all, ...filters }), JSON.stringify(filters)).to.include.members(ids.map((id) => id & 3));
    }
    await expectTrue();
  });

  it('follow a change of vendor by the apply step, and forget a vendor that has nothing left', async () => {
    await createMaterials(database, shopId, [virtual('1', 'Old'), virtual('2', 'Kept')]);
    const operation = operationOf({ kind: 'update', changes: { vendor: 'New' } });
    const group = { shopId, materialId: 'VMAT-1', operations: [operation] };
    const { outcomes } = await applyOperations(database, [group], { nowMs: Date.now });
    expect(outcomes.get(operation.id)?.status).to.equal('executed');
    expect(await counted()).to.deep.include({ groupCount: 2, vendors: ['Kept', 'New'] });
    await setVendor('2', null);
    expect(await counted()).to.deep.include({ groupCount: 2, vendors: ['New'] });
    await expectTrue();
  });

  it('follow the first use in a bill and the end of the last', async () => {
    await createMaterials(database, shopId, [virtual('1'), virtual('2')]);
    await createBill(database, shopId, bill('b1', '1', '2'));
    await createBill(database, shopId, bill('b2', '1'));
    const drop = (id: string) =>
      database.raw('DELETE FROM bill_components WHERE shop_id = ? AND bill_id = ?', [shopId, id]);
    await drop('b1');
    expect((await counted({ usageFilter: 'used' })).matchedCount).to.equal(1);
    await drop('b2');
    expect((await counted({ usageFilter: 'used' })).matchedCount).to.equal(0);
    await expectTrue();
  });

  it('keep the use of a material when its vendor changes, and the vendor when its use does', async () => {
    await createMaterials(database, shopId, [virtual('1', 'Acme')]);
    await createBill(database, shopId, bill('b', '1'));
    await setVendor('1', 'Zeta');
    expect((await counted({ usageFilter: 'used', vendorFilter: ['Zeta'] })).matchedCount).to.equal(1);
    await expectTrue();
  });

  it('go down with what is deleted, and know nothing of what was rolled back', async () => {
    await createMaterials(database, shopId, [virtual('1', 'Acme'), virtual('2', 'Acme')]);
    await database.raw('DELETE FROM stock WHERE shop_id = ? AND material_id = ?', [shopId, 'VMAT-1']);
    await database.raw('DELETE FROM materials WHERE shop_id = ? AND id = ?', [shopId, 'VMAT-1']);
    const transaction = await database.transaction();
    await createMaterials(transaction, shopId, [virtual('3', 'Acme'), virtual('4', 'Gone')]);
    await transaction.rollback();
    expect(await counted()).to.deep.include({ groupCount: 1, vendors: ['Acme'] });
    await expectTrue();
  });

  it('are right where one statement writes the stock before its material, as the mirror of a platform may', async () => {
    await database.raw(
      `WITH made AS (INSERT INTO materials (shop_id, id, origin, product_name, vendor) VALUES (:shopId, '77', 'platform', 'p', 'Acme')),
       stocked AS (INSERT INTO stock (shop_id, material_id) VALUES (:shopId, '77') RETURNING 1)
       SELECT count(*) FROM stocked`,
      { shopId },
    );
    expect((await counted({ originFilter: 'platform', vendorFilter: ['Acme'] })).matchedCount).to.equal(1);
    await expectTrue();
  });

  it('make nobody wait for a transaction that adds to the same vendor, and come out right', async () => {
    await createMaterials(database, shopId, [virtual('1', 'Acme')]);
    const long = await database.transaction();
    await createMaterials(long, shopId, [virtual('2', 'Acme')]);
    await createMaterials(database, shopId, [virtual('3', 'Acme')]);
    expect((await counted()).groupCount).to.equal(2);
    await long.commit();
    expect((await counted()).groupCount).to.equal(3);
    await expectTrue();
  });

  it('are right after many writers at once', async () => {
    const rounds = Array.from({ length: 6 }, async (_, writer) => {
      for (let round = 0; round < 8; round += 1) {
        const id = `w${writer}-${round}`;
        await createMaterials(database, shopId, [virtual(id, `V${round % 3}`)]);
        if (round % 2 === 0) await setVendor(id, `V${(round + writer) % 3}`);
        if (round % 3 === 0) await createBill(database, shopId, bill(id, id));
      }
    });
    await Promise.all(rounds);
    expect((await counted()).groupCount).to.equal(48);
    await expectTrue();
    const { rows } = await database.raw<{ rows: [{ parts: number }] }>(
      `SELECT max(parts)::int AS parts FROM (
         SELECT count(*) AS parts FROM facet_counts c JOIN facets f ON f.id = c.facet_id WHERE f.shop_id = ? GROUP BY f.id) c`,
      [shopId],
    );
    expect(rows[0].parts, 'parts of a count: no more than writers').to.be.at.most(6);
  });

  describe('where two make the same new facets in opposite orders', () => {
    const places = Array.from({ length: 40 }, (_, place) => String(place).padStart(2, '0'));
    const vendors = places.map((place) => `Opposite ${place}`);

    /** Both come as far as a facet in the middle, which a third one makes; each holds what it has made until then. */
    async function meet<T>(make: (vendors: string[], prefix: string) => Promise<T>, isUsed = false): Promise<T[]> {
      const middle = await database.transaction();
      await middle.raw(`SELECT facet_of(?, ?, 'virtual', ?)`, [shopId, vendors[20] ?? '', isUsed]);
      const both = Promise.all([make(vendors, 'up'), make(vendors.toReversed(), 'down')]);
      await untilWaiting(2).finally(() => middle.rollback());
      return both;
    }

    it('do not let two cycles wait in a circle', async () => {
      const materials = ['up', 'down'].flatMap((prefix) => places.map((place) => virtual(`${prefix}-${place}`)));
      await createMaterials(database, shopId, materials);
      const reports = await meet((given, prefix) => {
        const groups = given.map((vendor, index) => ({
          shopId,
          materialId: `VMAT-${prefix}-${places[index] ?? ''}`,
          operations: [operationOf({ kind: 'update', changes: { vendor } })],
        }));
        return applyOperations(patient(database), groups, { nowMs: Date.now });
      });
      const statuses = reports.flatMap(({ outcomes }) => [...outcomes.values()].map(({ status }) => status));
      expect(statuses).to.deep.equal(materials.map(() => 'executed'));
      expect(await counted()).to.deep.include({ matchedCount: 80, vendors });
      await expectTrue();
    });

    const ofVendors = (given: string[], prefix: string) =>
      given.map((vendor, index) => virtual(`${prefix}-${places[index] ?? ''}`, vendor));

    it('do not let two who create materials either', async () => {
      const created = await meet((given, prefix) => createMaterials(database, shopId, ofVendors(given, prefix)));
      expect(created.map((ids) => ids.length)).to.deep.equal([40, 40]);
      expect(await counted()).to.deep.include({ matchedCount: 80, vendors });
      await expectTrue();
    });

    it('do not let two bills either', async () => {
      await createMaterials(database, shopId, ofVendors(vendors, 'up'));
      await createMaterials(database, shopId, ofVendors(vendors.toReversed(), 'down'));
      await meet(async (_, prefix) => {
        await createBill(database, shopId, bill(prefix, ...places.map((place) => `${prefix}-${place}`)));
      }, true);
      expect(await counted({ usageFilter: 'used' })).to.deep.include({ matchedCount: 80, vendors });
      await expectTrue();
    });

    it('do not let two imports either, and each gets them in the order of its own vendors', async () => {
      const [up = [], down] = await meet((given) => facetsOfVendors(database, shopId, given));
      expect(up.toReversed()).to.deep.equal(down);
      const { rows } = await database.raw<{ rows: object[] }>(
        'SELECT id, vendor FROM facets WHERE shop_id = ? AND vendor IS NOT NULL ORDER BY vendor',
        [shopId],
      );
      expect(rows).to.deep.equal(vendors.map((vendor, index) => ({ id: up[index], vendor })));
    });
  });

  it('let no bill and cycle wait in a circle: a bill holds no new facet while it waits for stock', async () => {
    await createMaterials(database, shopId, [virtual('1', 'Acme')]);
    const cycle = await database.transaction();
    await cycle.raw('SELECT 1 FROM stock WHERE shop_id = ? FOR NO KEY UPDATE', [shopId]);
    const billed = createBill(database, shopId, bill('b', '1'));
    await untilWaiting(1);
    await cycle.raw(`SELECT facet_of(?, 'Acme', 'virtual', true)`, [shopId]);
    await cycle.commit();
    await billed;
    expect((await counted({ usageFilter: 'used' })).matchedCount).to.equal(1);
    await expectTrue();
  });

  it('see the other one of two changes of the bills of one material', async () => {
    await createMaterials(database, shopId, [virtual('1')]);
    await createBill(database, shopId, bill('b1', '1'));
    const adding = await database.transaction();
    await createBill(adding, shopId, bill('b2', '1'));
    const dropping = database.raw('DELETE FROM bill_components WHERE shop_id = ? AND bill_id = ?', [shopId, 'b1']);
    const dropped = dropping.then(() => true);
    await untilWaiting(1);
    await adding.commit();
    await dropped;
    expect((await counted({ usageFilter: 'used' })).matchedCount).to.equal(1);
    await expectTrue();
  });
});

/**
 * The same database, except that a cycle waits for locks for a minute, not two seconds: where the test's process stands
 * still, it holds them for longer than that.
 */
function patient(database: Database): Database {
  type Query = (asked: { name?: string; text: string }) => Promise<unknown>;
  const client = database.client as { acquireConnection(): Promise<{ query: Query }> };
  const acquireConnection = async () => {
    const connection = await client.acquireConnection();
    const query = connection.query.bind(connection);
    connection.query = (asked) => {
      const answer = query(asked);
      if (asked.name !== 'apply-read') return answer;
      connection.query = query;
      const settings = ['lock_timeout', 'statement_timeout'].map((name) => `set_config('${name}', '1min', true)`);
      query({ text: `SELECT ${settings.join()}` }).catch(() => undefined);
      return answer;
    };
    return connection;
  };
  const value: unknown = Object.create(client, { acquireConnection: { value: acquireConnection } });
  return Object.create(database, { client: { value } }) as Database;
}

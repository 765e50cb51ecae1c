import { expect } from 'chai';
import type { Knex } from 'knex';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { pruneFacets, readFacets } from '../../../shared/database/facets.js';
import {
  facetsOfVendors,
  insertParameters,
  insertMaterialsWithStock,
} from '../../../shared/database/insert-materials-with-stock.js';
import { createShop } from '../../../shared/database/shops.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import { useDatabase } from '../../support/database/database.js';
import { createTestShop, operationOf } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

const restMs = 3_600_000;
const noFilters = { usageFilter: 'all', originFilter: 'all', vendorFilter: [] } as const;

describe('the deletion of facets without materials', () => {
  const postgres = useDatabase({ poolMax: 6, pipeline: true });
  let shopId: number;
  beforeEach(async () => {
    ({ shopId } = await createTestShop(postgres.database, { materials: 0 }));
  });

  const create = (database: Database, id: string, vendor: string) =>
    createMaterials(database, shopId, [{ id: `VMAT-${id}`, origin: 'virtual', productName: id, vendor }]);
  const setVendor = (database: Database, id: string, vendor: string) =>
    database.raw('UPDATE materials SET vendor = ? WHERE shop_id = ? AND id = ?', [vendor, shopId, `VMAT-${id}`]);
  const draw = async (vendor: string) => (await facetsOfVendors(postgres.database, shopId, [vendor]))[0] ?? 0;
  const look = () => pruneFacets(postgres.database, { restMs, batchSize: 1_000 });
  const anHourPasses = () =>
    postgres.database.raw(`UPDATE facets SET empty_since = empty_since - interval '61 minutes'`);
  const counted = async () => {
    const { matchedCount, vendors } = await readFacets(postgres.database, shopId, noFilters);
    return { matchedCount, vendors };
  };
  /** The shop's facets and the parts of their counts, by vendor. */
  const standing = async () => {
    const { rows } = await postgres.database.raw<{ rows: { vendor: string; parts: number }[] }>(
      `SELECT f.vendor, count(c.id)::integer AS parts FROM facets f LEFT JOIN facet_counts c ON c.facet_id = f.id
       WHERE f.shop_id = ? GROUP BY f.id ORDER BY f.vendor`,
      [shopId],
    );
    return rows.map(({ vendor, parts }) => `${vendor} ${parts}`);
  };
  /** A material that has left one vendor for another, and a look that has found the first one empty an hour ago. */
  const leave = async (from: string, to: string) => {
    await create(postgres.database, from, from);
    await setVendor(postgres.database, from, to);
    await look();
    await anHourPasses();
  };

  it('takes two looks, an hour apart, and leaves what materials have', async () => {
    await create(postgres.database, '1', 'Old');
    await setVendor(postgres.database, '1', 'New');
    await look();
    await look();
    expect(await standing(), 'two looks at once').to.deep.equal(['New 1', 'Old 1']);
    await anHourPasses();
    expect(await standing(), 'no look').to.deep.equal(['New 1', 'Old 1']);
    await look();
    expect(await standing()).to.deep.equal(['New 1']);
    expect(await counted()).to.deep.equal({ matchedCount: 1, vendors: ['New'] });
  });

  it('lets others have their numbers once the last number is given out; those that are taken are passed over', async () => {
    const [first, second, third] = [await draw('First'), await draw('Second'), await draw('Third')];
    await create(postgres.database, '1', 'First');
    await create(postgres.database, '3', 'Third');
    await look();
    await anHourPasses();
    await look();
    expect(await standing()).to.deep.equal(['First 1', 'Third 1']);
    await postgres.database.raw(`SELECT setval('facets_sequence', ?, false)`, [Math.floor(first / 4)]);
    expect(await draw('Fourth')).to.equal(second);
    expect(await draw('Fifth')).to.be.above(third);
    await postgres.database.raw(
      `SELECT setval('facets_sequence', (SELECT max_value FROM pg_sequences WHERE sequencename = 'facets_sequence'))`,
    );
    expect(await draw('Sixth'))
      .to.be.above(0)
      .and.not.be.oneOf([first, second, third]);
  });

  it('takes those that never had a material, and all parts of a count that come to nothing', async () => {
    await draw('Never used');
    await create(postgres.database, '1', 'Parts');
    await postgres.database.transaction(async (other) => {
      await create(other, '2', 'Parts');
      await create(postgres.database, '3', 'Parts');
    });
    expect(await standing()).to.deep.equal(['Never used 0', 'Parts 2']);
    for (const id of ['1', '2', '3']) await setVendor(postgres.database, id, 'New');
    await look();
    await anHourPasses();
    await look();
    expect(await standing()).to.deep.equal(['New 1']);
  });

  it('keeps those that materials have, where somebody has spoilt their counts: vendors change as ever', async () => {
    const { database } = postgres;
    await create(database, '1', 'Used');
    const ofShop = 'DELETE FROM facet_counts WHERE facet_id IN (SELECT id FROM facets WHERE shop_id = ?)';
    await database.raw(ofShop, [shopId]);
    await look();
    await anHourPasses();
    await look();
    expect(await standing()).to.deep.equal(['Used 0']);
    await setVendor(database, '1', 'New');
  });

  it('takes those that a deleted shop leaves: they do not refer to it by a key', async () => {
    const { database } = postgres;
    const { id } = await createShop(database, { name: 'Closed', plan: 'enhanced' });
    await createMaterials(database, id, [{ id: 'VMAT-x', origin: 'virtual', productName: 'x', vendor: 'Acme' }]);
    for (const [table, column] of [
      ['stock', 'shop_id'],
      ['materials', 'shop_id'],
      ['shops', 'id'],
    ] as const)
      await database.raw('DELETE FROM ?? WHERE ?? = ?', [table, column, id]);
    const left = async () => (await database('facets').where({ shop_id: id })).length;
    expect(await left()).to.equal(1);
    await look();
    await anHourPasses();
    await look();
    expect(await left()).to.equal(0);
  });

  it('goes batch by batch through those of all shops, and says where a batch ended', async () => {
    const vendors = ['a', 'b', 'c', 'd', 'e'];
    const ids = await facetsOfVendors(postgres.database, shopId, vendors);
    const round = async () => {
      const lasts: number[] = [];
      let after: number | undefined;
      do {
        after = await pruneFacets(postgres.database, { restMs, batchSize: 2, ...(after !== undefined && { after }) });
        if (after !== undefined) lasts.push(after);
      } while (after !== undefined);
      return lasts;
    };
    const lasts = await round();
    expect(lasts)
      .to.include.members([ids[3]])
      .and.deep.equal(lasts.toSorted((one, other) => one - other));
    await anHourPasses();
    await round();
    expect(await standing()).to.deep.equal([]);
  });

  it('gives a vendor that comes back a facet again, and counts it right', async () => {
    await leave('Old', 'New');
    await look();
    const operation = operationOf({ kind: 'update', changes: { vendor: 'Old' } });
    const { outcomes } = await applyOperations(
      postgres.database,
      [{ shopId, materialId: 'VMAT-Old', operations: [operation] }],
      { nowMs: Date.now },
    );
    expect(outcomes.get(operation.id)?.status).to.equal('executed');
    expect(await counted()).to.deep.equal({ matchedCount: 1, vendors: ['Old'] });
    await look();
    await anHourPasses();
    await look();
    expect(await standing()).to.deep.equal(['Old 1']);
  });

  it('begins to count the hour anew when somebody draws the facet, as an import does long before it uses it', async () => {
    await leave('Old', 'New');
    const facetId = await draw('Old');
    await look();
    await look();
    const material = { id: 'VMAT-imported', fields: { productName: 'i', vendor: 'Old' }, total: 0, levels: [] };
    await insertMaterialsWithStock(postgres.database, insertParameters(shopId, 'import', [{ material, facetId }]));
    expect(await counted()).to.deep.equal({ matchedCount: 2, vendors: ['New', 'Old'] });
  });

  describe('beside a transaction that has not ended', () => {
    let other: Knex.Transaction;
    beforeEach(async () => {
      other = await postgres.database.transaction();
    });
    afterEach(async () => {
      if (!other.isCompleted()) await other.rollback();
    });

    it('passes over a facet of which the other has changed a part', async () => {
      await leave('Old', 'New');
      await create(other, 'more', 'Old');
      await look();
      expect(await standing()).to.deep.equal(['New 1', 'Old 1']);
      await other.commit();
      await look();
      expect(await counted()).to.deep.equal({ matchedCount: 2, vendors: ['New', 'Old'] });
    });

    it('passes over a facet of which the other has made a part', async () => {
      await draw('Old');
      await look();
      await anHourPasses();
      await create(other, 'more', 'Old');
      await look();
      expect(await standing()).to.deep.equal(['Old 0']);
      await other.commit();
      await look();
      expect(await counted()).to.deep.equal({ matchedCount: 1, vendors: ['Old'] });
    });

    it('passes over a facet whose part it holds without a change', async () => {
      await leave('Old', 'New');
      await other.raw(`SELECT 1 FROM facet_counts FOR NO KEY UPDATE`);
      await look();
      expect(await standing()).to.include.members(['Old 1']);
      await other.commit();
      await look();
      expect(await standing()).to.deep.equal(['New 1']);
    });

    it('passes over a facet that the other used before it was marked', async () => {
      const facetId = await draw('Old');
      const material = { id: 'VMAT-i', fields: { productName: 'i', vendor: 'Old' }, total: 0, levels: [] };
      await insertMaterialsWithStock(other, insertParameters(shopId, 'import', [{ material, facetId }]));
      await look();
      await anHourPasses();
      await look();
      expect(await standing()).to.deep.equal(['Old 0']);
      await other.commit();
      await look();
      expect(await counted()).to.deep.equal({ matchedCount: 1, vendors: ['Old'] });
    });

    it('makes who draws the facet while it is being deleted wait for that, and make a new one', async () => {
      await leave('Old', 'New');
      const before = await draw('New');
      await pruneFacets(other, { restMs, batchSize: 1_000 });
      const comingBack = setVendor(postgres.database, 'Old', 'Old').then(() => true);
      await until(
        async () => {
          const { rows } = await postgres.database.raw<{ rows: object[] }>(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          );
          return rows.length === 1;
        },
        { deadlineMs: 10_000, what: 'the one that comes back to wait' },
      );
      await other.commit();
      await comingBack;
      expect(await draw('Old')).to.be.greaterThan(before);
      expect(await counted()).to.deep.equal({ matchedCount: 1, vendors: ['Old'] });
    });

    it('waits for nobody', async () => {
      await leave('Old', 'New');
      await other.raw('SELECT 1 FROM facets FOR UPDATE');
      await postgres.database.transaction(async (own) => {
        await own.raw(`SET LOCAL lock_timeout = '1s'`);
        await pruneFacets(own, { restMs, batchSize: 1_000 });
      });
      expect(await standing()).to.deep.equal(['New 1', 'Old 1']);
    });
  });

  it('loses nothing even without the hour, when a writer may have to try again: what it drew is gone', async () => {
    const { database } = postgres;
    await createMaterials(
      database,
      shopId,
      ['0', '1', '2', '3'].map((id) => ({ id: `VMAT-${id}`, origin: 'virtual', productName: id })),
    );
    const again = async (id: string, vendor: string): Promise<unknown> =>
      setVendor(database, id, vendor).catch((error: unknown) => {
        expect(error).to.include({ code: '23503', constraint: 'facet_counts_facet_fkey' });
        return again(id, vendor);
      });
    const written = new AbortController();
    const pruning = (async () => {
      while (!written.signal.aborted) await pruneFacets(database, { restMs: 0, batchSize: 1_000 });
    })();
    const writers = ['0', '1', '2', '3'].map(async (id, writer) => {
      for (let round = 0; round < 150; round += 1) await again(id, `V${(round * (writer + 1)) % 5}`);
    });
    await Promise.all(writers).finally(() => written.abort());
    await pruning;
    const { rows } = await database.raw<{ rows: object[] }>(
      `SELECT f.id FROM facets f
       CROSS JOIN LATERAL (SELECT coalesce(sum(materials), 0) AS n FROM facet_counts WHERE facet_id = f.id) c
       WHERE f.shop_id = :shopId AND c.n <> (SELECT count(*) FROM materials WHERE facet_id = f.id)
       UNION ALL
       SELECT m.facet_id FROM materials m LEFT JOIN facets f ON f.id = m.facet_id
       WHERE m.shop_id = :shopId AND (f.id IS NULL OR f.vendor IS DISTINCT FROM m.vendor)`,
      { shopId },
    );
    expect(rows).to.deep.equal([]);
    expect((await counted()).matchedCount).to.equal(4);
  });
});

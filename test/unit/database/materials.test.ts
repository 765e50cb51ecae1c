import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { findConnections, findMaterial } from '../../../shared/database/materials.js';
import { createShop } from '../../../shared/database/shops.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

describe('a material', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let shopId: number;
  let otherShopId: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 4 });
    shopId = (await createShop(database, { name: 'one', plan: 'enhanced' })).id;
    otherShopId = (await createShop(database, { name: 'two', plan: 'enhanced' })).id;
  });

  after(async () => {
    await database.destroy();
    await testDatabase.drop();
  });

  it('comes back with every field as it was given, numbers to six places', async () => {
    const fields = {
      productName: 'Wax "blend" \\ 5',
      variantName: "O'Neil, \u{1f56f}",
      sku: 'W-1',
      unit: 'kg',
      unitCost: 0.1 + 0.2,
      unitPrice: 1e9,
      vendor: '',
      specifications: 'two\nlines',
      imageUrl: 'https://example.com/a.png',
      isNonEssentialMaterial: true,
      weightValue: 0,
      weightUnitId: 'kg',
    };
    await createMaterials(database, shopId, [{ id: 'VMAT-full', origin: 'virtual', ...fields }]);
    const stored = { ...fields, unitCost: 0.3, inventoryQuantity: 0, id: 'VMAT-full', origin: 'virtual' };
    expect(await findMaterial(database, shopId, 'VMAT-full')).to.include(stored);
  });

  it('is not overwritten by another of its id', async () => {
    await createMaterials(database, shopId, [{ id: 'VMAT-twice', origin: 'virtual', productName: 'first' }]);
    const second = { id: 'VMAT-twice', origin: 'virtual', productName: 'second' } as const;
    expect(await createMaterials(database, shopId, [second])).to.deep.equal([]);
    expect(await findMaterial(database, shopId, 'VMAT-twice')).to.have.property('productName', 'first');
  });

  it('added among others that exist is the only one added', async () => {
    const batch = ['VMAT-twice', 'VMAT-third'].map((id) => ({ id, origin: 'virtual' as const, productName: id }));
    expect(await createMaterials(database, shopId, batch)).to.deep.equal(['VMAT-third']);
  });

  it('of the platform carries the mirrored figure, below zero as well', async () => {
    const mirrored = { id: '900', origin: 'platform', productName: 'm', mirroredQuantity: -1_500_000 } as const;
    await createMaterials(database, shopId, [mirrored]);
    expect(await findMaterial(database, shopId, '900')).to.have.property('inventoryQuantity', -1.5);
  });

  it('that is virtual gets no stock past the ledger', async () => {
    const stocked = { id: 'VMAT-s', origin: 'virtual', productName: 's', mirroredQuantity: 1 } as const;
    const failure = await createMaterials(database, shopId, [stocked]).catch((error: unknown) => error);
    expect(failure).to.be.an('error');
    expect(await findMaterial(database, shopId, 'VMAT-s')).to.equal(undefined);
  });

  it('of another shop is not found', async () => {
    await createMaterials(database, otherShopId, [{ id: 'VMAT-other', origin: 'virtual', productName: 'theirs' }]);
    expect(await findMaterial(database, shopId, 'VMAT-other')).to.equal(undefined);
    expect(await findMaterial(database, otherShopId, 'VMAT-other')).to.have.property('productName', 'theirs');
  });

  it('lists what consumes it by kind, sorted by name without regard to case, of its own shop only', async () => {
    for (const shop of [shopId, otherShopId]) {
      await createMaterials(database, shop, [{ id: 'VMAT-part', origin: 'virtual', productName: 'part' }]);
    }
    const components = [{ materialId: 'VMAT-part', quantity: 2_500_000 }];
    await createBill(database, shopId, { id: '2', kind: 'bill_of_materials', name: 'b', components });
    await createBill(database, shopId, { id: '1', kind: 'bill_of_materials', name: 'A', components });
    await createBill(database, shopId, { id: '3', kind: 'sub_assembly', name: 'c', components });
    await createBill(database, otherShopId, { id: '1', kind: 'sub_assembly', name: 'theirs', components });
    expect(await findConnections(database, shopId, 'VMAT-part')).to.deep.equal({
      billOfMaterials: [
        { id: '1', name: 'A', quantity: 2.5 },
        { id: '2', name: 'b', quantity: 2.5 },
      ],
      subAssemblies: [{ id: '3', name: 'c', quantity: 2.5 }],
    });
    expect(await findMaterial(database, shopId, 'VMAT-part')).to.deep.include({
      usage: { billOfMaterials: 2, subAssemblies: 1 },
    });
  });

  it('lists what consumes it under one name by id', async () => {
    await createMaterials(database, shopId, [{ id: 'VMAT-shared', origin: 'virtual', productName: 'shared' }]);
    const components = [{ materialId: 'VMAT-shared', quantity: 1_000_000 }];
    const ids = Array.from({ length: 40 }, (_, index) => String(100 + index));
    // Two names by turns: rows that a plan brings in the right order already would stay in it without a second key.
    const nameOf = (id: string) => (Number(id) % 2 === 0 ? 'Kit' : 'box');
    for (const id of ids)
      await createBill(database, shopId, { id, kind: 'bill_of_materials', name: nameOf(id), components });
    const { billOfMaterials } = await findConnections(database, shopId, 'VMAT-shared');
    const sorted = ['box', 'Kit'].flatMap((name) => ids.filter((id) => nameOf(id) === name));
    expect(billOfMaterials.map(({ id }) => id)).to.deep.equal(sorted);
  });

  it('that nothing consumes, or that does not exist, has no connections', async () => {
    expect(await findConnections(database, shopId, 'VMAT-nowhere')).to.deep.equal({
      billOfMaterials: [],
      subAssemblies: [],
    });
  });
});

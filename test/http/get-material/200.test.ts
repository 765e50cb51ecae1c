import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { useHttpService } from '../../support/http/http-service.js';
import { materialPath } from '../../support/http/material-paths.js';
import { connectPlatform, startScriptedPlatform } from '../../support/shop/platform.js';
import { expectData, keysOf } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';

const materialKeys = [
  'createdAt',
  'id',
  'imageUrl',
  'inventoryQuantity',
  'isNonEssentialMaterial',
  'origin',
  'productName',
  'sku',
  'specifications',
  'unit',
  'unitCost',
  'unitPrice',
  'updatedAt',
  'usage',
  'usage.billOfMaterials',
  'usage.subAssemblies',
  'variantId',
  'variantName',
  'vendor',
  'weightUnitId',
  'weightValue',
];

describe('GET /v1/raw-materials/{variantId}: 200', () => {
  const http = useHttpService();

  it('carries exactly the fields of the contract, all of them, null where nothing is known', async () => {
    const shop = await createTestShop(http.database);
    const [id = ''] = shop.materialIds;
    const answer = await http.ask({ path: materialPath(id), key: shop.readKey });
    const { createdAt, updatedAt, ...data } = expectData(answer, 'material') as Record<string, unknown>;
    expect(keysOf(answer.body)).to.deep.equal([
      'data',
      ...materialKeys.map((key) => `data.${key}`),
      'meta',
      'meta.apiVersion',
      'meta.requestId',
    ]);
    expect(data).to.deep.equal({
      id,
      variantId: id,
      origin: 'virtual',
      productName: `Material ${id}`,
      variantName: null,
      sku: null,
      unit: null,
      unitCost: null,
      unitPrice: null,
      inventoryQuantity: 0,
      vendor: null,
      specifications: null,
      imageUrl: null,
      isNonEssentialMaterial: false,
      weightValue: null,
      weightUnitId: null,
      usage: { billOfMaterials: 0, subAssemblies: 0 },
    });
    expect(createdAt).to.equal(updatedAt);
  });

  it('shows every field as it was stored, money and weight to six places', async () => {
    const shop = await createTestShop(http.database, { materials: 0 });
    const fields = {
      productName: 'Eiche 🪵',
      variantName: '20 mm',
      sku: 'OAK-20',
      unit: 'm2',
      unitCost: 12.345678,
      unitPrice: 999_999_999.999999,
      vendor: 'Söhne',
      specifications: 'a\nb',
      imageUrl: 'https://example.com/a.png',
      isNonEssentialMaterial: true,
      weightValue: 0,
      weightUnitId: 'kg',
    };
    await createMaterials(http.database, shop.shopId, [{ id: 'VMAT-a', origin: 'virtual', ...fields }]);
    const data: unknown = expectData(await http.ask({ path: materialPath('VMAT-a'), key: shop.readKey }), 'material');
    expect(data).to.deep.include(fields);
  });

  it('counts its uses, and with includeConnections=true names them', async () => {
    const shop = await createTestShop(http.database);
    const [id = ''] = shop.materialIds;
    const components = [{ materialId: id, quantity: 2_500_000 }];
    await createBill(http.database, shop.shopId, { id: 'b2', kind: 'bill_of_materials', name: 'Table', components });
    await createBill(http.database, shop.shopId, { id: 'b1', kind: 'bill_of_materials', name: 'chair', components });
    await createBill(http.database, shop.shopId, { id: 's1', kind: 'sub_assembly', name: 'Leg', components });
    const answer = await http.ask({ path: `${materialPath(id)}?includeConnections=true`, key: shop.readKey });
    const { usage, connections } = expectData(answer, 'connectedMaterial') as Record<string, unknown>;
    expect(usage).to.deep.equal({ billOfMaterials: 2, subAssemblies: 1 });
    expect(connections).to.deep.equal({
      billOfMaterials: [
        { id: 'b1', name: 'chair', quantity: 2.5 },
        { id: 'b2', name: 'Table', quantity: 2.5 },
      ],
      subAssemblies: [{ id: 's1', name: 'Leg', quantity: 2.5 }],
    });
  });

  it('with includeConnections=true a material that nothing uses has two empty lists', async () => {
    const shop = await createTestShop(http.database);
    const answer = await http.ask({
      path: `${materialPath(shop.materialIds[0]!)}?includeConnections=true`,
      key: shop.readKey,
    });
    const { connections } = expectData(answer, 'connectedMaterial') as Record<string, unknown>;
    expect(connections).to.deep.equal({ billOfMaterials: [], subAssemblies: [] });
  });

  for (const query of ['?includeConnections=false', '?colour=red', '?']) {
    it(`${query} is the plain material`, async () => {
      const shop = await createTestShop(http.database);
      const path = materialPath(shop.materialIds[0]!);
      const plain: unknown = expectData(await http.ask({ path, key: shop.readKey }), 'material');
      const answer = await http.ask({ path: path + query, key: shop.readKey });
      expect(expectData(answer, 'material')).to.deep.equal(plain);
    });
  }

  it('an id whose characters are escaped is the same id', async () => {
    const shop = await createTestShop(http.database, { materialIds: ['VMAT-VAR-1'] });
    const answer = await http.ask({ path: materialPath('VMAT%2DVAR-%31'), key: shop.readKey });
    expect(expectData(answer, 'material')).to.include({ id: 'VMAT-VAR-1' });
  });

  it('a platform material is its mirrored row: the platform is not called', async () => {
    const platform = await startScriptedPlatform((_request, response) => response.writeHead(500).end());
    try {
      const shop = await createTestShop(http.database, { materials: 0 });
      await connectPlatform(http.database, shop.shopId, platform.url);
      const id = '12345678901234567890';
      await createMaterials(http.database, shop.shopId, [
        { id, origin: 'platform', productName: 'Lamp', mirroredQuantity: -2_000_000 },
      ]);
      const answer = await http.ask({ path: materialPath(id), key: shop.readKey });
      expect(expectData(answer, 'material')).to.include({
        id,
        variantId: id,
        origin: 'platform',
        inventoryQuantity: -2,
      });
      expect(platform.calls).to.equal(0);
    } finally {
      await platform.stop();
    }
  });
});

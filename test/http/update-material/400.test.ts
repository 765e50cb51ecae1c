import { expect } from 'chai';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { updateShop } from '../../../shared/database/shops.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useHttpService } from '../../support/http/http-service.js';
import { badIds, inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectData, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const texts: Record<string, { lengthMax: number; mayBeEmpty: boolean; mayBeNull: boolean }> = {
  productName: { lengthMax: 255, mayBeEmpty: false, mayBeNull: false },
  variantName: { lengthMax: 255, mayBeEmpty: true, mayBeNull: true },
  sku: { lengthMax: 255, mayBeEmpty: true, mayBeNull: true },
  unit: { lengthMax: 16, mayBeEmpty: false, mayBeNull: true },
  vendor: { lengthMax: 255, mayBeEmpty: true, mayBeNull: true },
  specifications: { lengthMax: 10_000, mayBeEmpty: true, mayBeNull: true },
  weightUnitId: { lengthMax: 64, mayBeEmpty: false, mayBeNull: true },
};
const numbers = ['unitCost', 'unitPrice', 'inventoryQuantity', 'weightValue'];

/** JSON as it goes over the wire: a lone surrogate and 1e400 have no other way there. */
const bad: { field: string; json: string }[] = [
  ...Object.entries(texts).flatMap(([field, { lengthMax, mayBeEmpty, mayBeNull }]) =>
    [
      `"${'x'.repeat(lengthMax + 1)}"`,
      '5',
      'true',
      '["x"]',
      '{"x":1}',
      '"a\\u0000b"',
      '"\\ud800"',
      '"\\udc00\\ud800"',
      ...(mayBeEmpty ? [] : ['""']),
      ...(mayBeNull ? [] : ['null']),
    ].map((json) => ({ field, json })),
  ),
  ...numbers.flatMap((field) =>
    ['-0.000001', '-1', '1000000000.1', '1e10', '1e400', '"5"', '""', 'true', '[1]', '{}'].map((json) => ({
      field,
      json,
    })),
  ),
  { field: 'inventoryQuantity', json: 'null' },
  ...['"true"', '1', '0', 'null', '[]'].map((json) => ({ field: 'isNonEssentialMaterial', json })),
  ...[
    '"/relative.png"',
    '"example.com/a.png"',
    '"ftp://example.com/a"',
    '"javascript:alert(1)"',
    '"https://"',
    '"https://a b"',
    '"https://example.com/\\u0000"',
    '""',
    '5',
    `"https://example.com/${'x'.repeat(2_048)}"`,
  ].map((json) => ({ field: 'imageUrl', json })),
];

describe('PATCH /v1/raw-materials/{variantId}: 400', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
    await createMaterials(http.database, shop.shopId, [{ id: '4711', origin: 'platform', productName: 'Lamp' }]);
  });

  /** Refused with these paths in `details`, nothing queued, nothing stored. */
  async function refuse(asked: { id?: string; query?: string; body: unknown }, paths: string[]): Promise<void> {
    const { id = shop.materialIds[0]!, query = '', body } = asked;
    const path = materialPath(id) + query;
    const answer = await expectUntouched(http, shop.shopId, () =>
      http.ask({ method: 'PATCH', path, key: shop.writeKey, body }),
    );
    expectFaults(answer, paths);
  }

  for (const { field, json } of bad) {
    it(`${field} is not ${json.length > 60 ? `a text of ${json.length - 2} characters` : json}`, async () => {
      await refuse(
        { body: `{"sku":"not to be stored","${field}":${json}}`.replace('{"sku":"not to be stored","sku"', '{"sku"') },
        [`/${field}`],
      );
    });
  }

  it('every fault of a body is named', async () => {
    await refuse({ body: { sku: 5, unitCost: -1, isNonEssentialMaterial: 'no', vendor: 'fine' } }, [
      '/sku',
      '/unitCost',
      '/isNonEssentialMaterial',
    ]);
  });

  for (const id of ['4711', '4712', '0', '12345678901234567890']) {
    it(`${id} is the platform's, whether or not it exists`, async () => {
      await refuse({ id, body: { sku: 'x' } }, ['variantId']);
      await refuse({ id, body: {} }, ['variantId']);
    });
  }

  for (const id of badIds) {
    it(`${id} is no id`, async () => {
      await refuse({ id, body: { sku: 'x' } }, ['variantId']);
    });
  }

  it('a write knows no query parameters', async () => {
    await refuse({ query: '?dryrun=true&x=1', body: { sku: 'x' } }, ['dryrun', 'x']);
  });

  for (const header of ['', '""', 'a b', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'ä']) {
    it(`Idempotency-Key: ${header.length > 60 ? `${header.length} characters` : header} is none`, async () => {
      const path = materialPath(shop.materialIds[0]!);
      const headers = { 'idempotency-key': header };
      const answer = await expectUntouched(http, shop.shopId, () =>
        http.ask({ method: 'PATCH', path, key: shop.writeKey, body: { sku: 'x' }, headers }),
      );
      expectFaults(answer, ['Idempotency-Key']);
    });
  }

  describe('an inventoryQuantity that cannot be booked changes none of the fields', () => {
    async function refuseQuantity(own: TestShop, inventoryQuantity: number): Promise<void> {
      const asked = { path: materialPath(own.materialIds[0]!), key: own.writeKey };
      const before: unknown = expectData(await http.ask(asked), 'material');
      const body = { inventoryQuantity, productName: 'Not to be stored', sku: 'x' };
      expectFaults(await http.ask({ ...asked, method: 'PATCH', body }), ['/inventoryQuantity']);
      expect(expectData(await http.ask(asked), 'material')).to.deep.equal(before);
    }
    async function book(own: TestShop, updates: object[]): Promise<void> {
      const path = inventoryPath(own.materialIds[0]!);
      expectData(await http.ask({ method: 'PATCH', path, key: own.writeKey, body: { updates } }), 'batch');
    }

    it('where the other locations hold more', async () => {
      const own = await createTestShop(http.database);
      await book(own, [{ locationId: '1002', absolute: 5 }]);
      await refuseQuantity(own, 4.999999);
    });

    it('where the shop has no default location', async () => {
      const own = await createTestShop(http.database, { defaultLocation: false });
      await refuseQuantity(own, 1);
    });

    it('where the default location would hold more than 8e9', async () => {
      const own = await createTestShop(http.database, { allowNegative: true });
      await book(
        own,
        Array.from({ length: 8 }, () => ({ locationId: '1002', delta: -1e9 })),
      );
      await updateShop(http.database, own.shopId, { allowNegativeInventory: false });
      await refuseQuantity(own, 1);
    });
  });
});

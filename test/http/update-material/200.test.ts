import { expect } from 'chai';
import { updateShop } from '../../../shared/database/shops.js';
import type { Material } from '../../../shared/domain/material.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import type { Answer } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectData, keysOf } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const cleared = {
  variantName: null,
  sku: null,
  unit: null,
  unitCost: null,
  unitPrice: null,
  vendor: null,
  specifications: null,
  imageUrl: null,
  weightValue: null,
  weightUnitId: null,
};

/** What is sent, and what is there afterwards where that is not the same. */
const values: { fields: Partial<Record<keyof Material, unknown>>; become?: Partial<Material>; title?: string }[] = [
  { fields: { productName: 'Oak' } },
  { fields: { productName: 'ö'.repeat(255) }, title: 'a productName of 255 characters' },
  { fields: { productName: '😀'.repeat(255) }, title: 'a productName of 255 characters beyond the first plane' },
  { fields: { productName: ' ' } },
  { fields: { variantName: '20 mm' } },
  { fields: { variantName: '' } },
  { fields: { sku: 'OAK-20' } },
  { fields: { unit: 'm²' } },
  { fields: { unitCost: 0 } },
  { fields: { unitCost: 1e9, unitPrice: 999_999_999.999999 } },
  { fields: { unitCost: 0.1 + 0.2 }, become: { unitCost: 0.3 } },
  { fields: { unitPrice: 4.35 } },
  { fields: { unitPrice: 1.0000005 }, become: { unitPrice: 1.000001 } },
  { fields: { unitPrice: 1e-7 }, become: { unitPrice: 0 } },
  { fields: { vendor: 'Söhne & Co' } },
  { fields: { specifications: 'x'.repeat(10_000) }, title: 'specifications of 10,000 characters' },
  { fields: { specifications: '\u0001\u007f\uffff\u2028' }, title: 'specifications of odd characters' },
  { fields: { imageUrl: 'https://example.com/a%20b.png?x=1#y' } },
  { fields: { imageUrl: 'http://127.0.0.1/never-fetched' } },
  { fields: { isNonEssentialMaterial: true } },
  { fields: { isNonEssentialMaterial: false } },
  { fields: { weightValue: 0, weightUnitId: 'kg' } },
  { fields: { weightValue: 2.5 } },
  { fields: { weightUnitId: 'u'.repeat(64) } },
  { fields: cleared, title: 'null in every field that may be cleared' },
];

describe('PATCH /v1/raw-materials/{variantId}: 200', () => {
  const http = useHttpService();

  function patch(shop: TestShop, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const path = materialPath(shop.materialIds[0]!);
    return http.ask({ method: 'PATCH', path, key: shop.writeKey, body, headers });
  }
  async function updated(shop: TestShop, body: unknown): Promise<Material> {
    return expectData(await patch(shop, body), 'material') as Material;
  }
  async function read(shop: TestShop): Promise<Material> {
    const answer = await http.ask({ path: materialPath(shop.materialIds[0]!), key: shop.readKey });
    return expectData(answer, 'material') as Material;
  }

  it('answers with the state after the commit, which every later read shows', async () => {
    const shop = await createTestShop(http.database);
    const before = await read(shop);
    const data = await updated(shop, { productName: 'Oak', unitCost: 2.5 });
    expect(data).to.deep.equal({ ...before, productName: 'Oak', unitCost: 2.5, updatedAt: data.updatedAt });
    expect(data.updatedAt > before.updatedAt).to.equal(true);
    expect(await read(shop)).to.deep.equal(data);
  });

  it('carries exactly the fields of the single read', async () => {
    const shop = await createTestShop(http.database);
    const answer = await patch(shop, { sku: 'x' });
    const single = await http.ask({ path: materialPath(shop.materialIds[0]!), key: shop.readKey });
    expect(keysOf(answer.body)).to.deep.equal(keysOf(single.body));
    expect(answer.headers).not.to.have.property('idempotency-replayed');
  });

  for (const { fields, become = fields, title = JSON.stringify(fields) } of values) {
    it(`${title} changes exactly that`, async () => {
      const shop = await createTestShop(http.database);
      const before = await updated(shop, { variantName: 'v', sku: 's', unit: 'kg', unitCost: 7, weightValue: 1 });
      const after = await updated(shop, fields);
      expect({ ...after, updatedAt: '' }).to.deep.equal({ ...before, ...become, updatedAt: '' });
      expect(await read(shop)).to.deep.equal(after);
    });
  }

  it('-0 is 0', async () => {
    const shop = await createTestShop(http.database);
    const answer = await patch(shop, '{"unitCost":-0,"weightValue":-0.0,"inventoryQuantity":-0}');
    expectData(answer, 'material');
    expect(answer.text).to.contain('"unitCost":0,').and.to.contain('"weightValue":0,');
    expect(answer.text).not.to.match(/:-0/);
  });

  it('what is not recognised or not editable is ignored, and no prototype is touched', async () => {
    const shop = await createTestShop(http.database);
    const before = await read(shop);
    const body = `{"id":"VMAT-x","variantId":5,"origin":"platform","usage":null,"createdAt":1,"updatedAt":2,"colour":[],
      "__proto__":{"productName":"polluted"},"constructor":{"prototype":{"x":1}},"toString":1,"vendor":"V"}`;
    const answer = await patch(shop, body);
    const after = expectData(answer, 'material') as Material;
    expect(after).to.deep.equal({ ...before, vendor: 'V', updatedAt: after.updatedAt });
  });

  for (const body of [
    '{}',
    '{"colour":"red"}',
    '{"__proto__":{"vendor":"x"}}',
    '{"productname":"case matters"}',
    // What no known field may hold.
    String.raw`{"note\u0000":"\ud800","size":1e400}`,
  ]) {
    it(`${body} changes nothing, queues nothing and answers with the material`, async () => {
      const shop = await createTestShop(http.database);
      const before = await read(shop);
      const answer = await expectUntouched(http, shop.shopId, () => patch(shop, body));
      expect(expectData(answer, 'material')).to.deep.equal(before);
    });
  }

  for (const type of ['application/merge-patch+json', 'application/json; charset=UTF-8', 'Application/JSON']) {
    it(`Content-Type: ${type} is taken`, async () => {
      const shop = await createTestShop(http.database);
      expect(expectData(await patch(shop, { sku: 'x' }, { 'content-type': type }), 'material')).to.include({
        sku: 'x',
      });
    });
  }

  describe('inventoryQuantity', () => {
    async function book(shop: TestShop, updates: object[]): Promise<void> {
      const path = inventoryPath(shop.materialIds[0]!);
      expectData(await http.ask({ method: 'PATCH', path, key: shop.writeKey, body: { updates } }), 'batch');
    }
    async function levels(shop: TestShop): Promise<Record<string, number>> {
      const answer = await http.ask({ path: inventoryPath(shop.materialIds[0]!), key: shop.readKey });
      const { levels: found } = expectData(answer, 'levels') as { levels: { locationId: string; quantity: number }[] };
      return Object.fromEntries(found.map(({ locationId, quantity }) => [locationId, quantity]));
    }

    it('sets the default location to what the other levels leave over, through the ledger', async () => {
      const shop = await createTestShop(http.database);
      await book(shop, [
        { locationId: '1001', absolute: 1 },
        { locationId: '1002', absolute: 4 },
      ]);
      expect(await updated(shop, { inventoryQuantity: 10.5, sku: 'x' })).to.include({
        inventoryQuantity: 10.5,
        sku: 'x',
      });
      expect(await levels(shop)).to.deep.equal({ '1001': 6.5, '1002': 4 });
      const { rows } = await http.database.raw<{ rows: unknown[] }>(
        `SELECT previous::float, applied::float, level_after::float, requested_absolute::float, channel
         FROM ledger WHERE shop_id = ? AND previous = 1`,
        [shop.shopId],
      );
      expect(rows).to.deep.equal([
        { previous: 1, applied: 5.5, level_after: 6.5, requested_absolute: 6.5, channel: 'rest' },
      ]);
    });

    it('may be what the others hold, which leaves the default location at 0', async () => {
      const shop = await createTestShop(http.database);
      await book(shop, [{ locationId: '1002', absolute: 4 }]);
      expect(await updated(shop, { inventoryQuantity: 4 })).to.include({ inventoryQuantity: 4 });
      expect(await levels(shop)).to.deep.equal({ '1001': 0, '1002': 4 });
    });

    it('makes good for a level elsewhere that is below zero', async () => {
      const shop = await createTestShop(http.database, { allowNegative: true });
      await book(shop, [{ locationId: '1002', delta: -3 }]);
      await updateShop(http.database, shop.shopId, { allowNegativeInventory: false });
      expect(await updated(shop, { inventoryQuantity: 0 })).to.include({ inventoryQuantity: 0 });
      expect(await levels(shop)).to.deep.equal({ '1001': 3, '1002': -3 });
    });
  });

  it('a repeat under the same Idempotency-Key replays the answer and says so; only the request id is new', async () => {
    const shop = await createTestShop(http.database);
    const key = { 'idempotency-key': 'again' };
    const first = await patch(shop, { sku: '1', vendor: 'V' }, key);
    await updated(shop, { sku: '2' });
    const second = await patch(shop, { vendor: 'V', sku: '1' }, { 'idempotency-key': '"again"' });
    expect(expectData(second, 'material')).to.deep.equal(expectData(first, 'material'));
    expect(first.headers).not.to.have.property('idempotency-replayed');
    expect(second.headers['idempotency-replayed']).to.equal('true');
    expect(second.headers['x-request-id']).not.to.equal(first.headers['x-request-id']);
    expect(await read(shop)).to.include({ sku: '2' });
  });
});

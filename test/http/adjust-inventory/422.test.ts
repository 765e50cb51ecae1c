import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

describe('PATCH /v1/raw-materials/{variantId}/inventory: 422', () => {
  const http = useHttpService();

  const batch = (delta: number) => ({ updates: [{ locationId: '1001', delta }] });
  const patch = (shop: TestShop, body: unknown, headers: Record<string, string> = {}) =>
    http.ask({
      method: 'PATCH',
      path: inventoryPath(shop.materialIds[0]!),
      key: shop.writeKey,
      body,
      headers: { 'idempotency-key': 'k', ...headers },
    });
  async function total(shop: TestShop): Promise<number> {
    const answer = await http.ask({ path: inventoryPath(shop.materialIds[0]!), key: shop.readKey });
    return (expectData(answer, 'levels') as { totalQuantity: number }).totalQuantity;
  }

  it('an Idempotency-Key with another body applies nothing, and the first answer is still replayed', async () => {
    const shop = await createTestShop(http.database);
    const first: unknown = expectData(await patch(shop, batch(2)), 'batch');
    expectError(await patch(shop, batch(3)), 'IDEMPOTENCY_KEY_REUSED');
    const again = await patch(shop, batch(2));
    expect(expectData(again, 'batch')).to.deep.equal(first);
    expect(again.headers['idempotency-replayed']).to.equal('true');
    expect(await total(shop)).to.equal(2);
  });

  for (const [name, first, other] of [
    ['prefer', 'return=minimal', 'return=representation'],
    ['if-match', 'x', 'y'],
  ] as const) {
    it(`an Idempotency-Key with another ${name} is another request`, async () => {
      const shop = await createTestShop(http.database);
      expectData(await patch(shop, batch(2), { [name]: first }), 'batch');
      expectError(await patch(shop, batch(2), { [name]: other }), 'IDEMPOTENCY_KEY_REUSED');
      expect(await total(shop)).to.equal(2);
    });
  }

  it('an Idempotency-Key is the same with ?dryRun=false and with no query, which mean the same', async () => {
    const shop = await createTestShop(http.database);
    const first: unknown = expectData(await patch(shop, batch(2)), 'batch');
    const path = inventoryPath(shop.materialIds[0]!);
    const withQuery = (query: string) =>
      http.ask({
        method: 'PATCH',
        path: path + query,
        key: shop.writeKey,
        headers: { 'idempotency-key': 'k' },
        body: batch(2),
      });
    const again = await withQuery('?dryRun=false');
    expect(expectData(again, 'batch')).to.deep.equal(first);
    expect(again.headers['idempotency-replayed']).to.equal('true');
    expectError(await withQuery('?dryRun=true'), 'IDEMPOTENCY_KEY_REUSED');
    expect(await total(shop)).to.equal(2);
  });

  it('an Idempotency-Key is the same where the path of the repeat is escaped otherwise', async () => {
    const shop = await createTestShop(http.database);
    const first: unknown = expectData(await patch(shop, batch(2)), 'batch');
    const path = inventoryPath(shop.materialIds[0]!).replaceAll('-', '%2D');
    const escaped = { method: 'PATCH', path, key: shop.writeKey, headers: { 'idempotency-key': 'k' } };
    const again = await http.ask({ ...escaped, body: batch(2) });
    expect(expectData(again, 'batch')).to.deep.equal(first);
    expect(again.headers['idempotency-replayed']).to.equal('true');
    expectError(await http.ask({ ...escaped, body: batch(3) }), 'IDEMPOTENCY_KEY_REUSED');
    expect(await total(shop)).to.equal(2);
  });

  it('twins in flight with different bodies: one is applied, the other is 422', async () => {
    const shop = await createTestShop(http.database);
    const answers = await Promise.all([2, 3].map((delta) => patch(shop, batch(delta))));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422]);
    expect(await total(shop)).to.equal(answers[0]?.status === 200 ? 2 : 3);
  });

  it("the same key is another shop's and another path's own", async () => {
    const [one, other] = [await createTestShop(http.database), await createTestShop(http.database)];
    expectData(await patch(one, batch(2)), 'batch');
    expectData(await patch(other, batch(3)), 'batch');
    expect([await total(one), await total(other)]).to.deep.equal([2, 3]);
  });
});

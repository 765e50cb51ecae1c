import { expect } from 'chai';
import { useDatabase } from '../../support/database/database.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, expectLocations, readMirror } from './fixtures.js';

describe('what a mirror says of odd rows', () => {
  shutNetwork();
  const postgres = useDatabase();

  it('odd rows come in mended, with a remark, and keep no other out', async () => {
    const shop = await createConnectedShop(postgres.database);
    expectLocations();
    const odd = {
      price: '-1',
      title: 'x'.repeat(300),
      sku: 'a\u0000',
      product: { ...variantNode(1).product, title: '' },
    };
    onVariants(null).reply(200, variantsReply([variantNode(21, odd), variantNode(22)]));
    const outcome = await createSync(postgres.database).run(shop);
    expect(outcome).to.include({ status: 'complete', remarkCount: 4 });
    const { materials } = await readMirror(postgres.database, shop.id);
    expect(materials.map(({ id }) => id)).to.deep.equal(['21', '22']);
    expect(materials[0]).to.include({ product_name: 'Product of 21', unit_price: null, variant_name: 'x'.repeat(255) });
  });

  it('they are all counted, and the first hundred are named, however many there are', async () => {
    const shop = await createConnectedShop(postgres.database);
    expectLocations();
    const firstIds = [1_001, 2_001, 3_001];
    const idsOf = (first: number) => Array.from({ length: 40 }, (_, index) => String(first + index));
    for (const [index, first] of firstIds.entries()) {
      const nodes = idsOf(first).map((id) => variantNode(id, { price: '-1' }));
      onVariants(index === 0 ? null : `v${index}`).reply(
        200,
        variantsReply(nodes, index === 2 ? null : `v${index + 1}`),
      );
    }
    const outcome = await createSync(postgres.database).run(shop);
    if (outcome.status !== 'complete') throw new Error(outcome.status);
    expect(outcome.remarkCount).to.equal(120);
    expect(outcome.remarks.map(({ id }) => id)).to.deep.equal(firstIds.flatMap(idsOf).slice(0, 100));
  });
});

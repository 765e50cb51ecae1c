import { expect } from 'chai';
import nock from 'nock';
import { listSyncs } from '../../../shared/database/platform-syncs.js';
import { useDatabase } from '../../support/database/database.js';
import { shutNetwork } from '../platform/fixtures.js';
import { onLocations, onVariants, variantNode, variantsReply } from '../platform/list-fixtures.js';
import { createConnectedShop, createSync, cutOffAtV1, expectLocations, readMirror } from './fixtures.js';

describe('a mirror that goes on at a cursor of an earlier run', () => {
  shutNetwork();
  const postgres = useDatabase();

  const idsOf = async (shopId: number) => (await readMirror(postgres.database, shopId)).materials.map(({ id }) => id);
  const refusal = { data: null, errors: [{ message: 'no', extensions: { code: 'INVALID_CURSOR' } }] };

  it('begins anew, at once, where the platform refuses it', async () => {
    const { shop, run } = await cutOffAtV1(postgres.database);
    onVariants('v1').reply(200, refusal);
    expectLocations();
    onVariants(null).reply(200, variantsReply([variantNode(1), variantNode(2)]));
    expect(await run(shop)).to.include({ status: 'complete', resumed: false });
    expect(await idsOf(shop.id)).to.deep.equal(['1', '2']);
  });

  it('fails at a later page that is refused: its cursor is of this run, so a new run would fare no better', async () => {
    const { shop, run } = await cutOffAtV1(postgres.database);
    onVariants('v1').reply(200, variantsReply([variantNode(2)], 'v2'));
    onVariants('v2').reply(200, refusal);
    expect(await run(shop)).to.include({ status: 'failed', problem: 'invalid-response', resumed: true });
    expect(await idsOf(shop.id)).to.deep.equal(['1', '2']);
    expect(nock.isDone()).to.equal(true);
  });

  it('fails at once where it has none yet: a first page is no better the second time', async () => {
    const shop = await createConnectedShop(postgres.database);
    const { run } = createSync(postgres.database);
    onLocations(null).reply(401, '');
    await run(shop);
    expect((await listSyncs(postgres.database)).get(shop.id)).to.include({ phase: 'locations', cursor: null });
    onLocations(null).reply(200, refusal);
    expect(await run(shop)).to.include({ status: 'failed', problem: 'invalid-response', resumed: true });
    expect(nock.isDone()).to.equal(true);
  });

  describe('and at which nothing more is listed', () => {
    /** Three variants were brought in; then a run was cut off after the first, and goes on at a page that is empty. */
    async function emptyAtV1() {
      const shop = await createConnectedShop(postgres.database);
      const { run } = createSync(postgres.database);
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1), variantNode(2), variantNode(3)]));
      expect(await run(shop)).to.include({ status: 'complete' });
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1)], 'v1'));
      onVariants('v1').reply(401, '');
      expect(await run(shop)).to.include({ status: 'failed', problem: 'unauthorized' });
      onVariants('v1').reply(200, variantsReply([]));
      return { shop, run };
    }

    it('begins anew, so that nothing is removed where a new token may see no variant', async () => {
      const { shop, run } = await emptyAtV1();
      expectLocations();
      onVariants(null).reply(200, variantsReply([]));
      const outcome = await run(shop, { removeGone: true });
      expect(outcome).to.include({ status: 'complete', resumed: false, removedCount: 0, goneCount: 3 });
      expect(await idsOf(shop.id)).to.deep.equal(['1', '2', '3']);
    });

    it('begins anew once, and removes the others where they were deleted on the platform meanwhile', async () => {
      const { shop, run } = await emptyAtV1();
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1)]));
      const outcome = await run(shop, { removeGone: true });
      expect(outcome).to.include({ status: 'complete', resumed: false, removedCount: 2, goneCount: 0 });
      expect(await idsOf(shop.id)).to.deep.equal(['1']);
      expect(nock.isDone()).to.equal(true);
    });

    it('begins anew once, and removes nothing where the last page of the new run is empty as well', async () => {
      const { shop, run } = await emptyAtV1();
      expectLocations();
      onVariants(null).reply(200, variantsReply([variantNode(1)], 'v1'));
      onVariants('v1').reply(200, variantsReply([]));
      const outcome = await run(shop, { removeGone: true });
      expect(outcome).to.include({ status: 'complete', resumed: false, removalWithheld: true, removedCount: 0 });
      expect(await idsOf(shop.id)).to.deep.equal(['1', '2', '3']);
      expect(nock.isDone()).to.equal(true);
    });
  });
});

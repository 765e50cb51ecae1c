import { expect } from 'chai';
import type { Material } from '../../../shared/domain/material.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectData, expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

describe('ETag and If-Match of a material', () => {
  const http = useHttpService();
  let shop: TestShop;
  let id: string;

  beforeEach(async () => {
    shop = await createTestShop(http.database);
    [id = ''] = shop.materialIds;
  });

  const get = (query = '') => http.ask({ path: `${materialPath(id)}${query}`, key: shop.readKey });
  const etagNow = async () => (await get()).headers.etag;
  const patch = (body: object, headers: Record<string, string | string[]> = {}) =>
    http.ask({ method: 'PATCH', path: materialPath(id), key: shop.writeKey, body, headers });
  const ifMatch = (tag: string) => ({ 'if-match': tag });

  it('a read and the answer to a change carry the version of the fields as a strong tag', async () => {
    expect((await get()).headers.etag).to.equal('"1"');
    expect((await get('?includeConnections=true')).headers.etag).to.equal('"1"');
    const changed = await patch({ sku: 'S-1' });
    expectData(changed, 'material');
    expect(changed.headers.etag).to.equal('"2"');
    expect(await etagNow()).to.equal('"2"');
    expect((await patch({ vendor: 'V', unit: 'kg' })).headers.etag).to.equal('"3"');
  });

  it('changes of stock do not move it, by either way', async () => {
    const updates = [{ locationId: '1001', delta: 5 }];
    await http.ask({ method: 'PATCH', path: inventoryPath(id), key: shop.writeKey, body: { updates } });
    const booked = await patch({ inventoryQuantity: 9 }, ifMatch('"1"'));
    expect(expectData(booked, 'material')).to.include({ inventoryQuantity: 9 });
    expect(booked.headers.etag).to.equal('"1"');
    expect((await patch({ inventoryQuantity: 10, sku: 'S-1' })).headers.etag).to.equal('"2"');
  });

  it('errors have none', async () => {
    expect((await patch({ sku: 1 })).headers).to.not.have.property('etag');
    id = 'VMAT-unknown';
    expect((await get()).headers).to.not.have.property('etag');
  });

  it('of a change that changes nothing is the one there is', async () => {
    const before = expectData(await get(), 'material') as Material;
    const { productName, sku, isNonEssentialMaterial } = before;
    for (const body of [{}, { colour: 'red' }, { productName }, { sku, isNonEssentialMaterial }]) {
      const answer = await patch(body, ifMatch('"1"'));
      expect(answer.headers.etag).to.equal('"1"');
      expect(expectData(answer, 'material')).to.deep.equal(before);
    }
    expect(await etagNow()).to.equal('"1"');
    const changed = await patch({ productName, sku: 'S-1' });
    expect(changed.headers.etag).to.equal('"2"');
    const { updatedAt } = expectData(changed, 'material') as Material;
    expect(expectData(await patch({ sku: 'S-1' }), 'material')).to.have.property('updatedAt', updatedAt);
  });

  for (const tag of ['"1"', '"7", "1"', '*', ',"1"']) {
    it(`If-Match: ${tag} lets a change of version 1 through`, async () => {
      const changed = await patch({ sku: 'S-1' }, ifMatch(tag));
      expect(expectData(changed, 'material')).to.include({ sku: 'S-1' });
      expect(changed.headers.etag).to.equal('"2"');
    });
  }

  for (const tag of ['"2"', 'W/"1"', '"abc"', '"7", W/"1"', '"01"', '"1,2"']) {
    it(`If-Match: ${tag} fails a change of version 1, and nothing is changed`, async () => {
      for (const body of [{ sku: 'S-1', inventoryQuantity: 5 }, {}]) {
        const answer = await patch(body, ifMatch(tag));
        expectError(answer, 'PRECONDITION_FAILED');
        expect(answer.status).to.equal(412);
      }
      expect(expectData(await get(), 'material')).to.include({ sku: null, inventoryQuantity: 0 });
    });
  }

  for (const tag of ['W/"1"', '"1-gzip"']) {
    it(`If-Match: ${tag} is told that a proxy may have changed the tag, also in a replay`, async () => {
      for (const body of [{ sku: 'S-1' }, { sku: 'S-1' }, {}]) {
        const key = { 'idempotency-key': JSON.stringify(body) };
        const { message } = expectError(await patch(body, { ...ifMatch(tag), ...key }), 'PRECONDITION_FAILED');
        expect(message).to.equal(
          'The fields are at version "1", which If-Match does not name. Nothing was changed. ' +
            `${tag} never matches: the tag was "1", and a proxy that compresses may have changed it.`,
        );
      }
      const { message } = expectError(await patch({}, ifMatch('"2"')), 'PRECONDITION_FAILED');
      expect(message).to.match(/Nothing was changed\.$/);
    });
  }

  for (const tag of ['1', '"1', '', '*, "1"', '"1" "2"']) {
    it(`If-Match: ${JSON.stringify(tag)} is no list of tags: 400, and nothing is changed`, async () => {
      expectFaults(await patch({ sku: 'S-1' }, ifMatch(tag)), ['If-Match']);
      expect(await etagNow()).to.equal('"1"');
    });
  }

  it('without a material is 404, with any tag and with *', async () => {
    id = 'VMAT-unknown';
    for (const tag of ['*', '"1"']) expectError(await patch({ sku: 'S-1' }, ifMatch(tag)), 'NOT_FOUND');
  });

  it('of concurrent changes that name the same version exactly one is made', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => patch({ sku: `S-${index}` }, ifMatch('"1"'))),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).to.deep.equal([200, ...Array.from({ length: 19 }, () => 412)]);
    const winner = answers.find(({ status }) => status === 200);
    expect(expectData(await get(), 'material')).to.include({
      sku: (winner?.body as { data: { sku: string } }).data.sku,
    });
    expect(await etagNow()).to.equal('"2"');
  });

  it('counts every change, also of those that one transaction makes', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => patch({ sku: `S-${index}` })));
    const versions = answers.map(({ headers }) => Number(headers.etag?.slice(1, -1)));
    expect(versions.toSorted((one, other) => one - other)).to.deep.equal(Array.from({ length: 20 }, (_, at) => at + 2));
    expect(await etagNow()).to.equal('"21"');
  });

  it('is replayed with the answer, and a failed precondition as well', async () => {
    const keyed = (key: string, tag: string) => ({ 'idempotency-key': key, 'if-match': tag });
    await patch({ sku: 'S-1' }, keyed('a', '"1"'));
    await patch({ sku: 'S-2' });
    const twin = await patch({ sku: 'S-1' }, keyed('a', '"1"'));
    expect(twin.headers).to.include({ etag: '"2"', 'idempotency-replayed': 'true' });
    for (const replayed of [undefined, 'true']) {
      const failed = await patch({ sku: 'S-1' }, keyed('b', '"1"'));
      expectError(failed, 'PRECONDITION_FAILED');
      expect(failed.headers['idempotency-replayed']).to.equal(replayed);
    }
    expectError(await patch({ sku: 'S-1' }, keyed('a', '"3"')), 'IDEMPOTENCY_KEY_REUSED');
  });
});

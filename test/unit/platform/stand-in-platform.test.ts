import { expect } from 'chai';
import { createShopifyPlatform } from '../../../shared/platform/shopify/shopify-platform.js';
import type { StandInVariant } from '../../../shared/standalone/stand-in-answers.js';
import {
  standInAccessToken,
  standInLocations,
  standInVariants,
  startStandInPlatform,
} from '../../../shared/standalone/stand-in-platform.js';
import type { StandInPlatform } from '../../../shared/standalone/stand-in-platform.js';

const path = '/admin/api/2026-10/graphql.json';
const manyLevels = Array.from({ length: 130 }, (_, n) => ({ locationId: `${n + 1}`, quantity: n, updatedAt: null }));
const wide = { ...standInVariants[0], id: '9001', levels: manyLevels } as StandInVariant;

describe('the stand-in platform, over real HTTP', () => {
  let standIn: StandInPlatform;
  const platform = createShopifyPlatform({ allowLoopback: true });

  before(async () => {
    standIn = await startStandInPlatform({ variants: [...standInVariants, wide] });
  });
  after(() => standIn.stop());

  const read = (variantId: string, accessToken = standInAccessToken) =>
    platform.readLevels({ shopId: 1, domain: standIn.url, accessToken }, variantId);

  it('the adapter reads from it the levels of every demo variant', async () => {
    for (const { id, levels } of standInVariants) {
      expect(await read(id), id).to.deep.equal({ ok: true, data: levels });
    }
  });

  it('the adapter pages through 130 levels', async () => {
    const all = await read('9001');
    expect(all.ok && all.data).to.deep.equal(manyLevels);
  });

  it('an unknown variant is not-found', async () => {
    expect(await read('123456')).to.deep.equal({ ok: false, error: 'not-found' });
  });

  it('another access token is refused', async () => {
    expect(await read('8001', 'another-token')).to.deep.equal({ ok: false, error: 'unauthorized' });
  });

  it('what is not the one query over POST at the one address is refused, and the server goes on', async () => {
    const headers = { 'x-shopify-access-token': standInAccessToken };
    const statusOf = async (to: string, init: RequestInit) => (await fetch(standIn.url + to, init)).status;
    expect(await statusOf('/elsewhere', { method: 'POST', headers, body: '{}' })).to.equal(404);
    expect(await statusOf(path, { headers })).to.equal(405);
    expect(await statusOf(path, { method: 'POST', body: '{}' })).to.equal(401);
    expect(await statusOf(path, { method: 'POST', headers, body: '{' })).to.equal(400);
    expect(await statusOf(path, { method: 'POST', headers, body: 'x'.repeat(100_000) })).to.equal(413);
    const other = await fetch(standIn.url + path, { method: 'POST', headers, body: '{"query":"{ shop { id } }"}' });
    expect(await other.json()).to.have.nested.property('errors[0].extensions.code', 'undefinedField');
    expect((await read('8001')).ok).to.equal(true);
  });

  it('a stopped stand-in is unavailable, and its port can be had again', async () => {
    const other = await startStandInPlatform();
    await other.stop();
    const shop = { shopId: 2, domain: other.url, accessToken: standInAccessToken };
    const quick = createShopifyPlatform({ allowLoopback: true, limits: { backoffMs: 1 } });
    expect(await quick.readLevels(shop, '8001')).to.deep.equal({ ok: false, error: 'unavailable' });
    const again = await startStandInPlatform({ port: other.port });
    expect(again.port).to.equal(other.port);
    await again.stop();
  });

  it('a taken port is refused', async () => {
    const outcome = await startStandInPlatform({ port: standIn.port }).catch((error: unknown) => error);
    expect(outcome).to.have.property('code', 'EADDRINUSE');
  });

  it('the demo variants have ids, SKUs and locations that agree', () => {
    expect(new Set(standInVariants.map(({ id }) => id)).size).to.equal(standInVariants.length);
    expect(new Set(standInVariants.map(({ sku }) => sku)).size).to.equal(standInVariants.length);
    const locationIds = new Set<string>(standInLocations.map(({ id }) => id));
    for (const { levels } of standInVariants) {
      for (const { locationId } of levels) expect(locationIds.has(locationId)).to.equal(true);
    }
  });
});

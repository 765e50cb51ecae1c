import { expect } from 'chai';
import type { PlatformVariant } from '../../../shared/platform/commerce-platform.js';
import { createSubject, levelsReply, onShop, path, shop, shutNetwork } from './fixtures.js';
import {
  costing,
  locationNode,
  locationsReply,
  onLocations,
  onVariants,
  variantNode,
  variantsReply,
} from './list-fixtures.js';

const noWay = { hasNextPage: true, endCursor: null };

describe('the lists of Shopify', () => {
  shutNetwork();

  it('a page of locations is their digits and names, and where the next begins', async () => {
    const { platform } = createSubject();
    onLocations(null).reply(200, locationsReply([locationNode(1), locationNode(22, 'Shop floor')], 'c1'));
    expect(await platform.listLocations(shop, null)).to.deep.equal({
      ok: true,
      data: {
        items: [
          { id: '1', name: 'Location 1' },
          { id: '22', name: 'Shop floor' },
        ],
        next: 'c1',
      },
    });
    onLocations('c1').reply(200, locationsReply([]));
    expect(await platform.listLocations(shop, 'c1')).to.deep.equal({ ok: true, data: { items: [], next: null } });
  });

  it('a page of variants has of each what a material mirrors, texts and money as the platform wrote them', async () => {
    const { platform } = createSubject();
    onVariants('here').reply(200, variantsReply([variantNode(42)], 'there'));
    const wanted: PlatformVariant = {
      id: '42',
      productTitle: 'Product 42',
      title: 'Variant 42',
      sku: 'SKU-42',
      vendor: 'Vendor',
      price: '12.50',
      unitCost: '4.2',
      imageUrl: null,
      inventoryQuantity: 7,
    };
    const page = await platform.listVariants(shop, 'here');
    expect(page).to.deep.equal({ ok: true, data: { items: [wanted], next: 'there' } });
  });

  const image = (url: string) => ({ preview: { image: { url } } });
  const product = { title: 'P', vendor: 'V', featuredMedia: image('https://cdn.example/product.png') };
  const cases: [string, Record<string, unknown>, Partial<PlatformVariant>][] = [
    ['the only variant of a product has no name', { title: 'Default Title' }, { title: null }],
    ['a cost that may not be seen is null', { inventoryItem: { unitCost: null } }, { unitCost: null }],
    ['a quantity that is not tracked is 0', { inventoryQuantity: null }, { inventoryQuantity: 0 }],
    ['an oversold variant has less than nothing', { inventoryQuantity: -3 }, { inventoryQuantity: -3 }],
    [
      'a variant shows its own image',
      { product, media: { nodes: [image('https://cdn.example/own.png')] } },
      { imageUrl: 'https://cdn.example/own.png' },
    ],
    ['else its product’s', { product }, { imageUrl: 'https://cdn.example/product.png' }],
    [
      'and its product’s while its own is being processed',
      { product, media: { nodes: [{ preview: { image: null } }] } },
      { imageUrl: 'https://cdn.example/product.png' },
    ],
    ['else none', { media: { nodes: [{ preview: null }] } }, { imageUrl: null }],
  ];
  for (const [title, changes, wanted] of cases) {
    it(title, async () => {
      onVariants(null).reply(200, variantsReply([variantNode(1, changes)]));
      const page = await createSubject().platform.listVariants(shop, null);
      expect(page.ok && page.data.items[0]).to.include(wanted);
    });
  }

  const strange: [string, object][] = [
    ['a number for a price', variantsReply([variantNode(1, { price: 12.5 })])],
    ['a fraction of a unit', variantsReply([variantNode(1, { inventoryQuantity: 1.5 })])],
    ['a quantity beyond 32 bits', variantsReply([variantNode(1, { inventoryQuantity: 2 ** 31 })])],
    ['an id of another kind', variantsReply([{ ...variantNode(1), id: 'gid://shopify/Product/1' }])],
    ['an id that is not digits', variantsReply([variantNode('VMAT-1')])],
    ['a variant without its product', variantsReply([variantNode(1, { product: null })])],
    ['null for a variant', variantsReply([null as unknown as object])],
    ['more variants than were asked for', variantsReply(Array.from({ length: 51 }, (_, n) => variantNode(n + 1)))],
    ['a cursor that cannot be stored', variantsReply([variantNode(1)], 'c\u0000')],
    ['an empty cursor', variantsReply([variantNode(1)], '')],
    ['an endless cursor', variantsReply([variantNode(1)], 'c'.repeat(5_000))],
    ['the cursor that was asked for', variantsReply([variantNode(1)], 'here')],
    ['more to come, and no cursor', { data: { productVariants: { nodes: [variantNode(1)], pageInfo: noWay } } }],
    ['an empty page that is not the last', variantsReply([], 'c1')],
    ['no data', { data: null }],
    ['partial errors beside the data', { ...variantsReply([variantNode(1)]), errors: [{ message: 'no' }] }],
  ];
  for (const [title, body] of strange) {
    it(`${title}: the whole page is not believed`, async () => {
      onVariants('here').reply(200, body);
      const page = await createSubject().platform.listVariants(shop, 'here');
      expect(page).to.deep.equal({ ok: false, error: 'invalid-response' });
    });
  }

  it('a location that the token may not see is a refusal, not an empty list', async () => {
    onLocations(null).reply(200, { data: null, errors: [{ message: 'no', extensions: { code: 'ACCESS_DENIED' } }] });
    const page = await createSubject().platform.listLocations(shop, null);
    expect(page).to.deep.equal({ ok: false, error: 'unauthorized' });
  });

  it('a shop whose domain is none is never called', async () => {
    const page = await createSubject().platform.listVariants({ ...shop, domain: 'evil.example' }, null);
    expect(page).to.deep.equal({ ok: false, error: 'not-callable' });
  });

  it('a caller that gives up ends the call at once, with its reason', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    onVariants(null).delay(20_000).reply(200, variantsReply([]));
    const { platform, events } = createSubject();
    const listed = platform.listVariants(shop, null, abort.signal);
    setTimeout(() => abort.abort(reason), 20);
    expect(await listed.catch((error: unknown) => error)).to.equal(reason);
    expect(events, 'failures that the platform is blamed for').to.deep.equal([]);
  });

  it('a caller that gave up before the call asks the platform nothing', async () => {
    const reason = new Error('enough');
    const unasked = onVariants(null).reply(200, variantsReply([]));
    const late = createSubject().platform.listVariants(shop, null, AbortSignal.abort(reason));
    expect(await late.catch((error: unknown) => error)).to.equal(reason);
    expect(unasked.isDone()).to.equal(false);
  });

  it('a call that is over leaves nothing with the signal of a caller that makes very many', async () => {
    const { signal } = new AbortController();
    const sizes: number[] = [];
    for (let call = 0; call < 3; call++) {
      onVariants(null).reply(200, variantsReply([]));
      expect((await createSubject().platform.listVariants(shop, null, signal)).ok).to.equal(true);
      sizes.push(sizeOf(signal));
    }
    expect(sizes, 'what the signal holds after each').to.deep.equal([sizes[0], sizes[0], sizes[0]]);
  });
});

/** How many entries a signal has in what Node keeps with it: listeners, and signals that follow it. */
function sizeOf(signal: AbortSignal): number {
  const kept = Object.getOwnPropertySymbols(signal).map((key) => (signal as unknown as Record<symbol, unknown>)[key]);
  return kept.reduce<number>((sum, part) => sum + ((part as { size?: number } | null | undefined)?.size ?? 0), 0);
}

describe('throttling of the lists', () => {
  shutNetwork();

  it('the next page waits until the bucket holds its cost and what is kept for live reads', async () => {
    const { platform, clock } = createSubject();
    onVariants(null).reply(200, { ...variantsReply([variantNode(1)], 'c1'), ...costing(602, 102) });
    onVariants('c1').reply(200, { ...variantsReply([variantNode(2)], 'c2'), ...costing(602, 900) });
    onVariants('c2').reply(200, variantsReply([variantNode(3)]));
    await platform.listVariants(shop, null);
    clock.advance(1_000);
    await platform.listVariants(shop, 'c1');
    // 602 + 200 − 102 = 700 points, 100 a second, a second of which was over.
    expect(clock.waitsMs).to.deep.equal([6_000]);
    await platform.listVariants(shop, 'c2');
    expect(clock.waitsMs).to.deep.equal([6_000]);
  });

  it('a live read waits for nothing, whatever the lists have left', async () => {
    const { platform, clock } = createSubject();
    onVariants(null).reply(200, { ...variantsReply([variantNode(1)]), ...costing(602, 0) });
    await platform.listVariants(shop, null);
    onShop().post(path).reply(200, levelsReply([]));
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    expect(clock.waitsMs).to.deep.equal([]);
  });

  it('a bucket smaller than cost and reserve is waited for until it is full, no longer', async () => {
    const { platform, clock } = createSubject();
    onVariants(null).reply(200, { ...variantsReply([variantNode(1)], 'c1'), ...costing(900, 500) });
    onVariants('c1').reply(200, variantsReply([]));
    await platform.listVariants(shop, null);
    await platform.listVariants(shop, 'c1');
    expect(clock.waitsMs).to.deep.equal([5_000]);
  });

  it('a query that was throttled all the same comes again when its figures say so', async () => {
    const { platform, clock } = createSubject();
    const throttled = { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }] };
    onVariants(null).reply(200, { ...throttled, ...costing(602, 2) });
    onVariants(null).reply(200, variantsReply([variantNode(1)]));
    expect((await platform.listVariants(shop, null)).ok).to.equal(true);
    // 6 s until it would be let through, and its jitter; then the rest of the reserve.
    expect(clock.waitsMs).to.deep.equal([6_100, 1_900]);
  });

  it('each wait, for the next attempt and for points, ends when the caller gives up, as a worker that is to stop does', async () => {
    const { platform, clock } = createSubject();
    const { signal } = new AbortController();
    onVariants(null).reply(503, '');
    onVariants(null).reply(200, { ...variantsReply([variantNode(1)], 'c1'), ...costing(602, 102) });
    onVariants('c1').reply(200, variantsReply([]));
    await platform.listVariants(shop, null, signal);
    await platform.listVariants(shop, 'c1', signal);
    expect(clock.waitsMs).to.deep.equal([100, 7_000]);
    expect(clock.waitSignals.map((held) => held === signal)).to.deep.equal([true, true]);
  });

  it('a wait past the deadline is not begun: throttled, and the figures are not believed a second time', async () => {
    const { platform, clock } = createSubject();
    onVariants(null).reply(200, { ...variantsReply([variantNode(1)], 'c1'), ...costing(602, 0, 0.001) });
    await platform.listVariants(shop, null);
    expect(await platform.listVariants(shop, 'c1')).to.deep.equal({ ok: false, error: 'throttled' });
    onVariants('c1').reply(200, variantsReply([variantNode(2)]));
    expect((await platform.listVariants(shop, 'c1')).ok).to.equal(true);
    expect(clock.waitsMs).to.deep.equal([]);
  });

  it('figures of another shape, or another shop’s, hold up nobody', async () => {
    const { platform, clock } = createSubject();
    const nonsense = { extensions: { cost: { requestedQueryCost: 'much', throttleStatus: null } } };
    onVariants(null).reply(200, { ...variantsReply([variantNode(1)], 'c1'), ...nonsense });
    onVariants('c1').reply(200, { ...variantsReply([variantNode(1)]), ...costing(602, 0) });
    await platform.listVariants(shop, null);
    await platform.listVariants(shop, 'c1');
    onVariants(null).reply(200, variantsReply([]));
    await platform.listVariants({ ...shop, shopId: 8 }, null);
    expect(clock.waitsMs).to.deep.equal([]);
  });
});

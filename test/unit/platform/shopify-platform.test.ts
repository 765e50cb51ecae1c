import { expect } from 'chai';
import nock from 'nock';
import { variantLevelsQuery } from '../../../shared/platform/shopify/variant-levels-query.js';
import { createSubject, levelsReply, onShop, path, shop, shutNetwork } from './fixtures.js';

describe('reading the levels of a variant from Shopify', () => {
  shutNetwork();

  it('makes exactly one call, with the token in its header and the ids in its variables', async () => {
    const variables = { id: 'gid://shopify/ProductVariant/42', first: 50, after: null };
    const scope = nock('https://demo-shop.myshopify.com', {
      reqheaders: { 'x-shopify-access-token': 'token-of-the-shop', 'content-type': 'application/json' },
    })
      .post(path, { query: variantLevelsQuery, variables })
      .reply(200, levelsReply([{ locationId: '11', quantity: 5 }]));

    const result = await createSubject().platform.readLevels(shop, '42');

    scope.done();
    expect(result).to.deep.equal({
      ok: true,
      data: [{ locationId: '11', quantity: 5, updatedAt: '2026-11-01T10:00:00.000Z' }],
    });
  });

  it('a negative quantity and a level that was never changed come through as they are', async () => {
    const levels = [
      { locationId: '11', quantity: -4, updatedAt: '2026-11-01T12:00:00+02:00' },
      { locationId: '12', quantity: 0, updatedAt: null },
    ];
    onShop().post(path).reply(200, levelsReply(levels));
    const result = await createSubject().platform.readLevels(shop, '42');
    expect(result.ok && result.data).to.deep.equal([
      { locationId: '11', quantity: -4, updatedAt: '2026-11-01T10:00:00.000Z' },
      { locationId: '12', quantity: 0, updatedAt: null },
    ]);
  });

  it('an empty list of errors is no error', async () => {
    onShop()
      .post(path)
      .reply(200, { ...levelsReply([{ locationId: '11', quantity: 5 }]), errors: [] });
    expect(await createSubject().platform.readLevels(shop, '42')).to.have.property('ok', true);
  });

  it('follows the cursor page by page and gives every level once', async () => {
    const cursors: unknown[] = [];
    const pages = [
      levelsReply([{ locationId: '1', quantity: 1 }], 'a'),
      levelsReply([{ locationId: '2', quantity: 2 }], 'b'),
      levelsReply([{ locationId: '3', quantity: 3 }]),
    ];
    onShop()
      .post(path)
      .times(3)
      .reply(200, (_uri, body) => {
        cursors.push((body as { variables: { after: unknown } }).variables.after);
        return pages[cursors.length - 1];
      });
    const result = await createSubject().platform.readLevels(shop, '42');
    expect(cursors).to.deep.equal([null, 'a', 'b']);
    expect(result.ok && result.data.map((level) => level.quantity)).to.deep.equal([1, 2, 3]);
  });

  it('a location that is on two pages, because one was added meanwhile, has the level of the later page', async () => {
    onShop()
      .post(path)
      .reply(200, levelsReply([{ locationId: '1', quantity: 1 }], 'a'));
    onShop()
      .post(path)
      .reply(200, levelsReply([{ locationId: '1', quantity: 2 }]));
    const result = await createSubject().platform.readLevels(shop, '42');
    expect(result.ok && result.data.map(({ quantity }) => quantity)).to.deep.equal([2]);
  });

  it('a failure on a later page fails the read: no part of the levels is given', async () => {
    onShop()
      .post(path)
      .reply(200, levelsReply([{ locationId: '1', quantity: 1 }], 'a'));
    onShop().post(path).reply(403, '');
    const result = await createSubject().platform.readLevels(shop, '42');
    expect(result).to.deep.equal({ ok: false, error: 'unauthorized' });
  });

  it('pages without end stop at 20', async () => {
    let asked = 0;
    onShop()
      .post(path)
      .times(50)
      .reply(200, () => levelsReply([{ locationId: `${++asked}`, quantity: 1 }], `cursor-${asked}`));
    const result = await createSubject().platform.readLevels(shop, '42');
    expect(result).to.deep.equal({ ok: false, error: 'invalid-response' });
    expect(asked).to.equal(20);
  });

  for (const [what, endCursor] of [
    ['that stands still', 'a'],
    ['that is missing', null],
  ] as const) {
    it(`a further page with a cursor ${what} is an invalid response`, async () => {
      onShop()
        .post(path)
        .reply(200, levelsReply([{ locationId: '1', quantity: 1 }], 'a'));
      const stuck = levelsReply([{ locationId: '2', quantity: 2 }], 'a');
      const connection = stuck.data.productVariant.inventoryItem.inventoryLevels;
      connection.pageInfo = { hasNextPage: true, endCursor: endCursor };
      onShop().post(path).reply(200, stuck);
      const { platform, events } = createSubject();
      const result = await platform.readLevels(shop, '42');
      expect(result).to.deep.equal({ ok: false, error: 'invalid-response' });
      expect(events).to.have.lengthOf(1);
    });
  }

  it('a variant that Shopify does not know is not-found', async () => {
    onShop()
      .post(path)
      .reply(200, { data: { productVariant: null } });
    const result = await createSubject().platform.readLevels(shop, '42');
    expect(result).to.deep.equal({ ok: false, error: 'not-found' });
  });

  for (const id of ['0', '007', '9223372036854775808', '99999999999999999999']) {
    it(`${id} cannot be a Shopify id: not-found without a call`, async () => {
      const scope = onShop().post(path).reply(200, levelsReply([]));
      const result = await createSubject().platform.readLevels(shop, id);
      expect(result).to.deep.equal({ ok: false, error: 'not-found' });
      expect(scope.isDone()).to.equal(false);
    });
  }

  for (const id of ['VMAT-VAR-0b6ed0e2-5a0a-4b86-a1b7-6b2f7d5f8c11', '', '4 2', '-1', '42"']) {
    it(`${JSON.stringify(id)} is never sent: the call throws`, async () => {
      const scope = onShop().post(path).reply(200, levelsReply([]));
      const outcome = await createSubject()
        .platform.readLevels(shop, id)
        .then(
          () => 'answered',
          (error: unknown) => error,
        );
      expect(outcome).to.be.instanceOf(Error);
      expect(scope.isDone()).to.equal(false);
    });
  }
});

describe('a shop that cannot be called', () => {
  shutNetwork();

  const unusable = {
    'a domain elsewhere': { domain: 'demo-shop.example.com' },
    'a domain that ends in the right letters': { domain: 'evil-myshopify.com' },
    'a loopback origin where it is not allowed': { domain: 'http://127.0.0.1:4000' },
    'no domain': { domain: '' },
    'no token': { accessToken: '' },
    'a token with a line break': { accessToken: 'token\r\nX-Other: 1' },
    'a token outside of ASCII': { accessToken: 'tökén' },
  };
  for (const [what, change] of Object.entries(unusable)) {
    it(`${what}: not-callable, which is told, and nothing is called`, async () => {
      const requests: unknown[] = [];
      const listen = (request: unknown): void => void requests.push(request);
      nock.emitter.on('no match', listen);
      const { platform, events } = createSubject();
      const result = await platform.readLevels({ ...shop, ...change }, '42');
      nock.emitter.off('no match', listen);
      expect(result).to.deep.equal({ ok: false, error: 'not-callable' });
      expect(requests).to.deep.equal([]);
      expect(events).to.have.length(1);
      expect(events[0]).to.deep.include({ kind: 'attempt-failed', shopId: shop.shopId, error: 'not-callable' });
    });
  }
});

import { expect } from 'chai';
import nock from 'nock';
import { createSubject, levelsReply, onShop, path, shop, shutNetwork } from './fixtures.js';

const good = levelsReply([{ locationId: '1', quantity: 1 }]);
const throttled = {
  errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }],
  extensions: {
    cost: {
      requestedQueryCost: 155,
      actualQueryCost: null,
      throttleStatus: { currentlyAvailable: 55, restoreRate: 50 },
    },
  },
};

function graphqlError(...codes: string[]) {
  return { errors: codes.map((code) => ({ message: 'no', extensions: { code } })) };
}

describe('failures of Shopify that may pass', () => {
  shutNetwork();

  for (const status of [429, 503]) {
    it(`${status} with Retry-After is tried again after that time, and then succeeds`, async () => {
      onShop().post(path).reply(status, '', { 'Retry-After': '2.0' });
      onShop().post(path).reply(200, good);
      const { platform, clock } = createSubject();
      const result = await platform.readLevels(shop, '42');
      expect(result.ok).to.equal(true);
      expect(clock.waitsMs).to.deep.equal([2_100]);
    });
  }

  it('a Retry-After past the deadline is not waited for: throttled at once', async () => {
    const scope = onShop().post(path).once().reply(429, '', { 'Retry-After': '8' });
    const { platform, clock } = createSubject();
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'throttled' });
    scope.done();
    expect(clock.waitsMs).to.deep.equal([]);
  });

  it('a Retry-After that is a date is understood; one that is neither counts as absent', async () => {
    onShop().post(path).reply(429, '', { 'Retry-After': 'Wed, 01 Jan 2020 00:00:00 GMT' });
    onShop().post(path).reply(429, '', { 'Retry-After': 'soon' });
    onShop().post(path).reply(200, good);
    const { platform, clock } = createSubject();
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    expect(clock.waitsMs).to.deep.equal([100, 200]);
  });

  it('THROTTLED waits until the bucket holds the cost asked for', async () => {
    onShop().post(path).reply(200, throttled);
    onShop().post(path).reply(200, good);
    const { platform, clock } = createSubject();
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    // (155 − 55) points at 50 a second, and half of the jitter of 200 ms.
    expect(clock.waitsMs).to.deep.equal([2_100]);
  });

  it('THROTTLED by a bucket that says it holds the cost waits for the jitter alone', async () => {
    const throttleStatus = { currentlyAvailable: 900, restoreRate: 50 };
    const extensions = { cost: { requestedQueryCost: 155, throttleStatus } };
    onShop()
      .post(path)
      .reply(200, { ...throttled, extensions });
    onShop().post(path).reply(200, good);
    const { platform, clock } = createSubject();
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    expect(clock.waitsMs).to.deep.equal([100]);
  });

  it('THROTTLED without cost figures, or with senseless ones, backs off', async () => {
    const senseless = { cost: { requestedQueryCost: 155, throttleStatus: { currentlyAvailable: 0, restoreRate: 0 } } };
    onShop().post(path).reply(200, graphqlError('THROTTLED'));
    onShop()
      .post(path)
      .reply(200, { ...graphqlError('THROTTLED'), extensions: senseless });
    onShop().post(path).reply(200, good);
    const { platform, clock } = createSubject();
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    expect(clock.waitsMs).to.deep.equal([100, 200]);
  });

  it('THROTTLED for ever ends in throttled after three attempts', async () => {
    const scope = onShop().post(path).times(3).reply(200, throttled);
    expect(await createSubject().platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'throttled' });
    scope.done();
  });

  for (const status of [500, 502, 503, 504]) {
    it(`${status} is tried again and then succeeds`, async () => {
      onShop().post(path).reply(status, '<html>oops</html>');
      onShop().post(path).reply(200, good);
      const { platform, events } = createSubject();
      expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
      expect(events).to.deep.equal([
        { kind: 'attempt-failed', shopId: 7, error: 'unavailable', detail: `HTTP ${status}`, attempt: 1 },
      ]);
    });
  }

  it('5xx for ever ends in unavailable after three attempts, with growing waits', async () => {
    const scope = onShop().post(path).times(3).reply(503, '');
    const { platform, clock } = createSubject();
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'unavailable' });
    scope.done();
    expect(clock.waitsMs).to.deep.equal([100, 200]);
  });

  it('a network error is tried again and then succeeds', async () => {
    onShop()
      .post(path)
      .replyWithError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    onShop().post(path).reply(200, good);
    const { platform, events } = createSubject();
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    expect(events).to.have.nested.property('[0].error', 'unavailable');
  });

  it('INTERNAL_SERVER_ERROR of GraphQL is tried again', async () => {
    onShop().post(path).reply(200, graphqlError('INTERNAL_SERVER_ERROR'));
    onShop().post(path).reply(200, good);
    expect((await createSubject().platform.readLevels(shop, '42')).ok).to.equal(true);
  });

  it('the deadline spans all pages: no attempt begins after it', async () => {
    const { platform, clock } = createSubject({ deadlineMs: 1_000 });
    const scope = onShop()
      .post(path)
      .once()
      .reply(200, () => {
        clock.advance(1_000);
        return levelsReply([{ locationId: '1', quantity: 1 }], 'a');
      });
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'timeout' });
    scope.done();
  });
});

describe('failures of Shopify that do not pass by themselves are not tried again', () => {
  shutNetwork();

  const level = good.data.productVariant.inventoryItem.inventoryLevels.nodes[0];
  const withNodes = (nodes: unknown) => ({
    data: {
      productVariant: {
        inventoryItem: { inventoryLevels: { nodes, pageInfo: { hasNextPage: false, endCursor: null } } },
      },
    },
  });
  const withQuantity = (quantity: unknown) =>
    withNodes([{ ...level, quantities: [{ name: 'available', quantity, updatedAt: null }] }]);

  const cases: [what: string, status: number, body: nock.Body, error: string][] = [
    ['400', 400, { errors: 'Bad Request' }, 'invalid-response'],
    ['401', 401, { errors: '[API] Invalid API key or access token' }, 'unauthorized'],
    ['402, a frozen shop', 402, { errors: 'Unavailable Shop' }, 'unavailable'],
    ['403', 403, { errors: 'scope' }, 'unauthorized'],
    ['404', 404, { errors: 'Not Found' }, 'unavailable'],
    ['423, a locked shop', 423, '', 'unavailable'],
    ['430, taken for an attacker', 430, '', 'unavailable'],
    ['204', 204, '', 'invalid-response'],
    ['ACCESS_DENIED', 200, graphqlError('ACCESS_DENIED'), 'unauthorized'],
    ['SHOP_INACTIVE', 200, graphqlError('SHOP_INACTIVE'), 'unavailable'],
    [
      'ACCESS_DENIED among others, the gravest',
      200,
      graphqlError('INTERNAL_SERVER_ERROR', 'ACCESS_DENIED'),
      'unauthorized',
    ],
    ['MAX_COST_EXCEEDED', 200, graphqlError('MAX_COST_EXCEEDED'), 'invalid-response'],
    ['an error without a code', 200, { errors: [{ message: 'no' }] }, 'invalid-response'],
    ['good data beside errors', 200, { ...good, errors: [{ message: 'a part failed' }] }, 'invalid-response'],
    ['errors that are no list', 200, { errors: 'no' }, 'invalid-response'],
    ['an empty body', 200, '', 'invalid-response'],
    ['HTML', 200, '<html>Maintenance</html>', 'invalid-response'],
    ['half a JSON document', 200, '{"data":{"productVariant":', 'invalid-response'],
    ['invalid UTF-8', 200, Buffer.from(JSON.stringify({ ...good, note: '\xff' }), 'latin1'), 'invalid-response'],
    ['a list', 200, [], 'invalid-response'],
    ['null', 200, 'null', 'invalid-response'],
    ['no data', 200, {}, 'invalid-response'],
    ['no variant key', 200, { data: {} }, 'invalid-response'],
    ['no inventory item', 200, { data: { productVariant: { inventoryItem: null } } }, 'invalid-response'],
    ['nodes that are no list', 200, withNodes({}), 'invalid-response'],
    ['a null node', 200, withNodes([null]), 'invalid-response'],
    ['more nodes than asked for', 200, withNodes(Array.from({ length: 51 }, () => level)), 'invalid-response'],
    [
      'a location of another kind',
      200,
      withNodes([{ ...level, location: { id: 'gid://shopify/Shop/1' } }]),
      'invalid-response',
    ],
    ['no quantities', 200, withNodes([{ ...level, quantities: [] }]), 'invalid-response'],
    ['a quantity in a string', 200, withQuantity('5'), 'invalid-response'],
    ['a broken quantity', 200, withQuantity(1.5), 'invalid-response'],
    ['a quantity beyond 32 bits', 200, withQuantity(2 ** 31), 'invalid-response'],
    ['a null quantity', 200, withQuantity(null), 'invalid-response'],
    [
      'a time that is none',
      200,
      withNodes([{ ...level, quantities: [{ name: 'available', quantity: 1, updatedAt: 'yesterday' }] }]),
      'invalid-response',
    ],
    [
      'a leap second',
      200,
      withNodes([{ ...level, quantities: [{ name: 'available', quantity: 1, updatedAt: '2016-12-31T23:59:60Z' }] }]),
      'invalid-response',
    ],
    [
      'another quantity than asked for',
      200,
      withNodes([{ ...level, quantities: [{ name: 'on_hand', quantity: 1, updatedAt: null }] }]),
      'invalid-response',
    ],
  ];
  for (const [what, status, body, error] of cases) {
    it(`${what}: ${error}, after one call`, async () => {
      let calls = 0;
      onShop()
        .post(path)
        .times(2)
        .reply(() => {
          calls += 1;
          return [status, body];
        });
      const { platform, events } = createSubject();
      expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error });
      expect(calls).to.equal(1);
      expect(events).to.have.lengthOf(1);
    });
  }

  it('a redirect is not followed, so the token goes nowhere else', async () => {
    const elsewhere = nock('https://elsewhere.example').post('/').reply(200, good);
    onShop().post(path).reply(307, '', { Location: 'https://elsewhere.example/' });
    expect(await createSubject().platform.readLevels(shop, '42')).to.deep.equal({
      ok: false,
      error: 'invalid-response',
    });
    expect(elsewhere.isDone()).to.equal(false);
  });

  it('a body over the limit is an invalid response', async () => {
    onShop()
      .post(path)
      .reply(200, { ...good, padding: 'x'.repeat(2_000) });
    const { platform } = createSubject({ bodyBytesMax: 2_000 });
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'invalid-response' });
  });

  it('what is reported holds neither the token nor words of the reply', async () => {
    onShop()
      .post(path)
      .reply(200, { errors: [{ message: `not with ${shop.accessToken}` }] });
    const { platform, events } = createSubject();
    await platform.readLevels(shop, '42');
    expect(events).to.have.lengthOf(1);
    expect(JSON.stringify(events)).not.to.include(shop.accessToken).and.not.to.include('not with');
  });
});

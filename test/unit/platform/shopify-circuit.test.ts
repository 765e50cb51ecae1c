import { expect } from 'chai';
import nock from 'nock';
import { createSubject, levelsReply, onShop, path, shop, shutNetwork } from './fixtures.js';

const good = levelsReply([{ locationId: '1', quantity: 1 }]);

describe("a shop's circuit", () => {
  shutNetwork();

  const limits = { attemptsMax: 1, failuresToOpen: 2, coolDownMs: 10_000 };

  it('opens after failures in a row, then answers without a call, and closes after a good probe', async () => {
    const { platform, clock, events } = createSubject(limits);
    const down = onShop().post(path).times(2).reply(503, '');
    await platform.readLevels(shop, '42');
    await platform.readLevels(shop, '43');
    down.done();

    const back = onShop().post(path).times(2).reply(200, good);
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'circuit-open' });
    clock.advance(9_999);
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'circuit-open' });
    expect(back.isDone()).to.equal(false);

    clock.advance(1);
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
    back.done();
    const changes = events.filter(({ kind }) => kind !== 'attempt-failed');
    expect(changes).to.deep.equal([
      { kind: 'circuit-opened', shopId: 7 },
      { kind: 'circuit-closed', shopId: 7 },
    ]);
  });

  it('is its own: another shop is still called', async () => {
    const { platform } = createSubject(limits);
    onShop().post(path).times(2).reply(503, '');
    await platform.readLevels(shop, '42');
    await platform.readLevels(shop, '42');
    nock('https://other-shop.myshopify.com').post(path).reply(200, good);
    const result = await platform.readLevels({ ...shop, shopId: 8, domain: 'other-shop.myshopify.com' }, '42');
    expect(result.ok).to.equal(true);
  });

  it('does not open for refusals, throttling, unknown variants and strange answers', async () => {
    const { platform } = createSubject(limits);
    for (const [status, body] of [
      [401, {}],
      [429, {}],
      [200, { data: { productVariant: null } }],
      [200, {}],
    ] as const) {
      onShop().post(path).times(3).reply(status, body);
      for (let call = 0; call < 3; call++) await platform.readLevels(shop, '42');
    }
    onShop().post(path).reply(200, good);
    expect((await platform.readLevels(shop, '42')).ok).to.equal(true);
  });

  it('a call whose attempts open it does not wait for an attempt that would be refused', async () => {
    const { platform, clock } = createSubject({ ...limits, attemptsMax: 5 });
    const scope = onShop().post(path).times(2).reply(503, '');
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'unavailable' });
    scope.done();
    expect(clock.waitsMs).to.have.lengthOf(1);
  });

  it('that another call opens meanwhile ends a call with what failed, not with the circuit', async () => {
    const { platform, clock } = createSubject({ ...limits, attemptsMax: 2 });
    const wait = clock.wait.bind(clock);
    clock.wait = async (ms) => {
      clock.wait = wait;
      expect(await platform.readLevels(shop, '43')).to.deep.equal({ ok: false, error: 'unavailable' });
      return wait(ms);
    };
    const scope = onShop().post(path).reply(429, '').post(path).times(2).reply(503, '');
    expect(await platform.readLevels(shop, '42')).to.deep.equal({ ok: false, error: 'throttled' });
    scope.done();
  });
});

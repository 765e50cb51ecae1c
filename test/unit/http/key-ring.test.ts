import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { createKeyRing } from '../../../api/http/key-ring.js';
import type { KeyWithShop } from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { startStopwatch } from '../../../shared/runtime/stopwatch.js';
import { timerCount } from '../../support/time/timer-count.js';

const minted = mintKey();
const startMs = Date.UTC(2026, 0, 1);

function stored(more: Partial<KeyWithShop> = {}): KeyWithShop {
  const shop = { id: 1 } as KeyWithShop['shop'];
  const { id, secretHash } = minted;
  return {
    id,
    shopId: 1,
    scope: 'read',
    secretHash,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    shop,
    ...more,
  };
}

/** A ring on a clock and a table of its own. */
function ringOn(key: KeyWithShop | undefined) {
  const world = {
    key,
    nowMs: startMs,
    /** Of a clock that nobody sets. */
    runningMs: 0,
    lookUps: 0,
    touches: 0,
    touchFault: undefined as Error | undefined,
    fault: undefined as Error | undefined,
    held: undefined as Promise<KeyWithShop | undefined> | undefined,
    said: [] as string[],
  };
  const ring = createKeyRing({
    database: undefined as unknown as Database,
    logger: {
      warn: ({ err, keyId }: { err: Error; keyId?: string }) =>
        world.said.push(keyId === undefined ? err.message : `${keyId}: ${err.message}`),
      info: () => undefined,
    } as unknown as Logger,
    nowMs: () => world.nowMs,
    measure: () => startStopwatch([() => world.runningMs, () => world.nowMs]),
    lookUp: async () => {
      world.lookUps += 1;
      if (world.fault !== undefined) throw world.fault;
      return world.held ?? world.key;
    },
    touch: async () => {
      world.touches += 1;
      if (world.touchFault !== undefined) throw world.touchFault;
    },
  });
  return { world, ring };
}

/** A look-up that answers when it is told to. */
function heldBack(): [Promise<KeyWithShop | undefined>, (key: KeyWithShop | undefined) => void] {
  let answer: (key: KeyWithShop | undefined) => void = () => undefined;
  const asked = new Promise<KeyWithShop | undefined>((resolve) => (answer = resolve));
  return [asked, answer];
}

describe('the ring of keys', () => {
  it('looks a key up once for all who ask at once, and again after a second', async () => {
    const { world, ring } = ringOn(stored());
    const found = await Promise.all(Array.from({ length: 10 }, () => ring.find(minted)));
    expect(found.every((key) => key === world.key)).to.equal(true);
    world.nowMs += 999;
    await ring.find(minted);
    expect(world.lookUps).to.equal(1);
    world.nowMs += 1;
    await ring.find(minted);
    expect(world.lookUps).to.equal(2);
  });

  it('refuses a revoked key within a second', async () => {
    const { world, ring } = ringOn(stored());
    await ring.find(minted);
    world.key = stored({ revokedAt: new Date(world.nowMs) });
    world.nowMs += 1_000;
    expect(await ring.find(minted)).to.equal('refused');
    expect(ring.wasGood(minted)).to.equal(false);
  });

  it('refuses a revoked key within a second also where a look-up from before it was under way for longer', async () => {
    const { world, ring } = ringOn(stored());
    const [slow, answer] = heldBack();
    world.held = slow;
    const first = ring.find(minted);
    world.nowMs += 999;
    world.held = undefined;
    const joined = ring.find(minted);
    const good = world.key;
    world.key = stored({ revokedAt: new Date(world.nowMs) });
    world.nowMs += 800;
    answer(good);
    expect(await Promise.all([first, joined])).to.deep.equal(['refused', 'refused']);
    expect(world.lookUps).to.equal(2);
  });

  it('believes no answer of a look-up from before the one under way, which may be from before a revocation', async () => {
    const { world, ring } = ringOn(stored());
    const [slow, answer] = heldBack();
    world.held = slow;
    const first = ring.find(minted);
    world.nowMs += 1_000;
    world.held = undefined;
    const good = world.key;
    world.key = stored({ revokedAt: new Date(world.nowMs) });
    expect(await ring.find(minted)).to.equal('refused');
    answer(good);
    expect(await first).to.equal('refused');
    expect(await ring.find(minted)).to.equal('refused');
    expect(world.lookUps).to.equal(2);
  });

  it('leaves no timer behind when a look-up is answered', async () => {
    const { ring } = ringOn(stored());
    // Mocha begins a timer of its own when it has the promise of this test.
    await nextTurn();
    const before = timerCount();
    await ring.find(minted);
    expect(timerCount()).to.equal(before);
  });

  it('refuses a key from the moment it expires, though it was looked up before', async () => {
    const { world, ring } = ringOn(stored({ expiresAt: new Date(startMs + 500) }));
    expect(await ring.find(minted)).to.be.an('object');
    world.nowMs += 500;
    expect(await ring.find(minted)).to.equal('refused');
  });

  it('refuses a key that expired while it was looked up', async () => {
    const { world, ring } = ringOn(undefined);
    const [slow, answer] = heldBack();
    world.held = slow;
    const found = ring.find(minted);
    world.nowMs += 800;
    answer(stored({ expiresAt: new Date(startMs + 500) }));
    expect(await found).to.equal('refused');
  });

  it('looks a key up again after a second also where the clock was set back meanwhile', async () => {
    for (const setBackMs of [3_600_000, 600_000, 599_600]) {
      const { world, ring } = ringOn(stored());
      await ring.find(minted);
      world.key = stored({ revokedAt: new Date(world.nowMs) });
      world.runningMs += 600_000;
      world.nowMs += 600_000 - setBackMs;
      expect(await ring.find(minted), `by ${setBackMs} ms`).to.equal('refused');
    }
  });

  it('refuses another secret under a known id, and has not seen it to be good', async () => {
    const { ring } = ringOn(stored());
    await ring.find(minted);
    const guess = { id: minted.id, secretHash: mintKey().secretHash };
    expect(await ring.find(guess)).to.equal('refused');
    expect(ring.wasGood(guess)).to.equal(false);
    expect(ring.wasGood(minted)).to.equal(true);
  });

  it('does the same work for an id that nobody has and for another secret under a known one: a look-up each time', async () => {
    const known = ringOn(stored());
    const unknown = ringOn(undefined);
    await known.ring.find(minted);
    for (const { ring, world } of [known, unknown]) {
      for (let guess = 0; guess < 5; guess += 1) {
        const before = world.lookUps;
        expect(await ring.find({ id: minted.id, secretHash: mintKey().secretHash })).to.equal('refused');
        expect(world.lookUps).to.equal(before + 1);
      }
    }
    const before = known.world.lookUps;
    expect(await known.ring.find(minted)).to.equal(known.world.key);
    expect(known.world.lookUps, 'of the good key').to.equal(before);
  });

  it('finds a key that was issued just after it was refused as unknown', async () => {
    const { world, ring } = ringOn(undefined);
    expect(await ring.find(minted)).to.equal('refused');
    world.key = stored();
    expect(await ring.find(minted)).to.equal(world.key);
  });

  it('is unavailable while Postgres is away, and asks again at once', async () => {
    const { world, ring } = ringOn(stored());
    world.fault = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    expect(await ring.find(minted)).to.equal('unavailable');
    world.fault = undefined;
    expect(await ring.find(minted)).to.equal(world.key);
  });

  it('is unavailable, and no key is refused, where Postgres is silent; a late answer serves the next one', async () => {
    const { world, ring } = ringOn(stored());
    const [asked, answer] = heldBack();
    world.held = asked;
    expect(await ring.find(minted)).to.equal('unavailable');
    answer(world.key);
    await asked;
    expect(await ring.find(minted)).to.equal(world.key);
    expect(world.lookUps).to.equal(1);
  });

  it('says once why no key can be looked up, and anew after one could be', async () => {
    const { world, ring } = ringOn(stored());
    const fail = async (message: string) => {
      world.fault = Object.assign(new Error(message), { code: 'ECONNREFUSED' });
      for (let request = 0; request < 3; request += 1) await ring.find(minted);
    };
    await fail('one');
    await fail('other');
    expect(world.said).to.deep.equal(['one', 'other']);
    world.fault = undefined;
    await ring.find(minted);
    world.nowMs += 1_000;
    await fail('one');
    const [asked] = heldBack();
    world.fault = undefined;
    world.held = asked;
    expect(await ring.find(minted)).to.equal('unavailable');
    expect(world.said.slice(2)).to.deep.equal(['one', 'Postgres has not answered within 900 ms']);
  });

  it('notes a use at most once a minute', async () => {
    const { world, ring } = ringOn(stored());
    for (let second = 0; second < 59; second += 1) {
      await ring.find(minted);
      world.nowMs += 1_000;
    }
    expect(world.touches).to.equal(1);
    world.nowMs += 1_000;
    await ring.find(minted);
    expect(world.touches).to.equal(2);
  });

  it('serves a key whose use cannot be noted, and says of which: Postgres may take reads alone', async () => {
    const { world, ring } = ringOn(stored());
    world.touchFault = new Error('cannot execute UPDATE in a read-only transaction');
    expect(await ring.find(minted)).to.equal(world.key);
    // Or nobody would hear of it, and that ends a process.
    await nextTurn();
    expect(world.said).to.deep.equal([`${minted.id}: cannot execute UPDATE in a read-only transaction`]);
    world.nowMs += 59_000;
    expect(await ring.find(minted)).to.equal(world.key);
    expect(world.touches, 'within the minute').to.equal(1);
  });

  it('notes no use that another process has noted within the minute', async () => {
    const { world, ring } = ringOn(stored({ lastUsedAt: new Date(startMs - 59_000) }));
    await ring.find(minted);
    expect(world.touches).to.equal(0);
    world.nowMs += 1_000;
    await ring.find(minted);
    expect(world.touches).to.equal(1);
  });

  it('notes no use that a process whose clock is a little ahead has noted', async () => {
    const { world, ring } = ringOn(stored({ lastUsedAt: new Date(startMs + 5_000) }));
    await ring.find(minted);
    expect(world.touches).to.equal(0);
  });

  it('notes uses again once its own clock, which was a day ahead, is right', async () => {
    const { world, ring } = ringOn(stored());
    await ring.find(minted);
    world.nowMs -= 86_400_000;
    world.runningMs += 1_000;
    await ring.find(minted);
    expect(world.touches).to.equal(2);
  });
});

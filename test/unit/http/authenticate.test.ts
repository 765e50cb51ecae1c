import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { authenticate } from '../../../api/http/authenticate.js';
import { createFailedAttempts } from '../../../api/http/failed-attempts.js';
import { lookUpMsMax } from '../../../api/http/key-ring.js';
import type { KeyRing } from '../../../api/http/key-ring.js';
import type { RequestState } from '../../../api/http/request-state.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';
import { timerCount } from '../../support/time/timer-count.js';

/** Failures of an address in a minute. */
const failuresMax = 60;

describe('the check of a key', () => {
  /** What one address is answered, request by request, depending on what the look-up of its key finds. */
  function start(clientAddress = () => '192.0.2.1', wasGood = () => false) {
    let found: unknown;
    const keys = { wasGood, find: () => Promise.resolve(found) } as unknown as KeyRing;
    const check = authenticate({ keys, failures: createFailedAttempts(), clientAddress });
    return async (finds: unknown): Promise<string> => {
      found = finds;
      const state = {} as RequestState;
      const req = { headers: { authorization: `Bearer ${mintKey().key}` } };
      await check({ state, req } as unknown as Parameters<typeof check>[0], () => Promise.resolve());
      const { reply } = state;
      return reply === undefined ? 'served' : reply.result.ok ? 'ok' : reply.result.error.code;
    };
  }
  const good = { id: 'key', scope: 'read', shop: { id: 1 } };

  it('counts no failure of Postgres against whoever showed a key meanwhile', async () => {
    const ask = start();
    for (let time = 0; time <= failuresMax; time += 1) expect(await ask('unavailable')).to.equal('SERVICE_UNAVAILABLE');
    expect(await ask(good)).to.equal('served');
  });

  it('counts every key that was refused, and none that was good', async () => {
    const ask = start();
    for (let time = 0; time <= failuresMax; time += 1) expect(await ask(good)).to.equal('served');
    for (let time = 0; time < failuresMax; time += 1) expect(await ask('refused')).to.equal('UNAUTHORIZED');
    expect(await ask(good)).to.equal('RATE_LIMITED');
  });

  it('counts the failures of an IPv6 network as one, since whoever has an address has 2^64 of them', async () => {
    let host = 0;
    const ask = start(() => `2001:db8::${(host += 1).toString(16)}`);
    for (let time = 0; time < failuresMax; time += 1) expect(await ask('refused')).to.equal('UNAUTHORIZED');
    expect(await ask('refused')).to.equal('RATE_LIMITED');
  });

  it('looks no key up beside those that an address may still have wrong, however long they take', async () => {
    const ask = start();
    let answer: (found: unknown) => void = () => undefined;
    const slow = new Promise((resolve) => (answer = resolve));
    const first = Array.from({ length: failuresMax }, () => ask(slow));
    await nextTurn();
    expect(await ask('refused'), 'it would be UNAUTHORIZED if it had been looked up').to.equal('SERVICE_UNAVAILABLE');
    answer(good);
    expect(new Set(await Promise.all(first))).to.deep.equal(new Set(['served']));
    expect(await ask('refused')).to.equal('UNAUTHORIZED');
  });

  it('lets who comes beside those wait for about as long as a look-up may take, and then looks the key up', async () => {
    const ask = start();
    let answer: (found: unknown) => void = () => undefined;
    const slow = new Promise((resolve) => (answer = resolve));
    const first = Array.from({ length: failuresMax }, () => ask(slow));
    await nextTurn();
    const beside = ask(good);
    await delay(lookUpMsMax / 2);
    answer(good);
    expect(await beside).to.equal('served');
    await Promise.all(first);
  });

  it('lets who waits go on once the key is known to be good, though the address is blocked by then', async () => {
    let isKnown = false;
    const ask = start(undefined, () => isKnown);
    let answer: (found: unknown) => void = () => undefined;
    const slow = new Promise((resolve) => (answer = resolve));
    const first = Array.from({ length: failuresMax }, () => ask(slow));
    await nextTurn();
    const beside = ask(good);
    await nextTurn();
    isKnown = true;
    answer('refused');
    expect(new Set(await Promise.all(first))).to.deep.equal(new Set(['UNAUTHORIZED']));
    expect(await beside).to.equal('served');
    isKnown = false;
    expect(await ask(good)).to.equal('RATE_LIMITED');
  });

  it('gives the place of a look-up back where it failed for a fault of ours, as where nobody has migrated yet', async () => {
    const ask = start();
    const fault = new Error('relation "api_keys" does not exist');
    for (let time = 0; time < failuresMax; time += 1) {
      const failed = Promise.reject(fault);
      expect(await ask(failed).catch((error: unknown) => error)).to.equal(fault);
    }
    expect(await ask(good)).to.equal('served');
  });

  it('leaves no timer behind when a key was found', async () => {
    const ask = start();
    // Mocha begins a timer of its own when it has the promise of this test.
    await nextTurn();
    const before = timerCount();
    expect(await ask(good)).to.equal('served');
    expect(timerCount()).to.equal(before);
  });
});

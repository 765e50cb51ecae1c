import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { besideMs, createShopGates, writesInHandBesideMax, writesInHandMax } from '../../../api/dispatch/shop-gates.js';

describe('the writes that are worth holding of a shop', () => {
  it('are fewer from the first write of another shop on, and as many again once that has been quiet', async () => {
    const gates = createShopGates({ form: () => undefined, send: () => undefined });
    gates.markDue(1, 'one');
    expect(gates.inHandMax()).to.equal(writesInHandMax);
    gates.markDue(2, 'another');
    expect(gates.inHandMax()).to.equal(writesInHandBesideMax);
    // Quiet since its write, and looked for a quarter of that time apart.
    await delay(1.3 * besideMs);
    gates.markDue(1, 'one');
    await turn();
    expect(gates.inHandMax()).to.equal(writesInHandMax);
  });
});

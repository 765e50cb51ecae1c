import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import {
  shopActiveMs,
  createShopGates,
  jobsSentSharedMax,
  jobsSentMax,
  writesInHandSharedMax,
  writesInHandMax,
} from '../../../api/dispatch/shop-gates.js';
import type { ShopGates } from '../../../api/dispatch/shop-gates.js';
import type { FormedJob } from '../../../api/dispatch/waiter.js';

describe('the writes that are worth holding of a shop', () => {
  it('are fewer from the first write of another shop on, and as many again once that has been quiet', async () => {
    const gates = createShopGates({ form: () => undefined, send: () => undefined });
    gates.markDue(1, 'one');
    expect(gates.inHandMax()).to.equal(writesInHandMax);
    gates.markDue(2, 'another');
    expect(gates.inHandMax()).to.equal(writesInHandSharedMax);
    // Quiet for `shopActiveMs` since its write, and a quarter of that until the next look.
    await delay(1.3 * shopActiveMs);
    gates.markDue(1, 'one');
    await turn();
    expect(gates.inHandMax()).to.equal(writesInHandMax);
  });
});

describe('the gate of a shop', () => {
  /** The queues whose jobs were let out, in their order. */
  let sent: string[];
  /** Queues of materials that have nothing to send when they are asked. */
  let empty: Set<string>;
  let gates: ShopGates;
  const now = performance.now.bind(performance);
  beforeEach(() => {
    [sent, empty] = [[], new Set()];
    gates = createShopGates({
      form: (queue) => (empty.has(queue) ? undefined : ({ id: queue } as FormedJob)),
      send: (jobs) => sent.push(...jobs.map(({ id }) => id)),
    });
  });
  afterEach(() => (performance.now = now));

  const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `queue ${index}`);
  /** As after a time in which nothing of this process ran. */
  const standStill = () => (performance.now = () => now() + 2 * shopActiveMs);

  it('lets so many jobs out, the material that has waited longest first, and another for each that comes back', async () => {
    const names = namesOf(jobsSentMax + 2);
    for (const name of names) gates.markDue(1, name);
    await turn();
    expect(sent).to.deep.equal(names.slice(0, jobsSentMax));
    for (const left of [1, 0]) {
      gates.leave(1, false);
      await turn();
      expect(sent).to.deep.equal(names.slice(0, names.length - left));
    }
  });

  it('lets another out for each that is held up, up to as many again, and none when such a one comes to its end', async () => {
    const names = namesOf(2 * jobsSentMax + 2);
    for (const name of names) gates.markDue(1, name);
    await turn();
    for (let heldUp = 0; heldUp < jobsSentMax; heldUp += 1) expect(gates.holdUp(1)).to.equal(true);
    expect(gates.holdUp(1), 'one more').to.equal(false);
    await turn();
    expect(sent).to.deep.equal(names.slice(0, 2 * jobsSentMax));
    gates.leave(1, true);
    await turn();
    expect(sent, 'after the end of one that was held up').to.have.length(2 * jobsSentMax);
    gates.leave(1, false);
    await turn();
    expect(sent, 'after the end of another').to.have.length(2 * jobsSentMax + 1);
  });

  it('lets out at once what is due when asked to, and nothing of it again at the end of the turn', async () => {
    for (const name of ['one', 'two']) gates.markDue(1, name);
    gates.sendDue();
    expect(sent).to.deep.equal(['one', 'two']);
    gates.sendDue();
    gates.markDue(1, 'three');
    expect(sent).to.deep.equal(['one', 'two']);
    await turn();
    expect(sent).to.deep.equal(['one', 'two', 'three']);
  });

  it('keeps no place for a material that had nothing to send when its turn came', async () => {
    const idle = namesOf(jobsSentMax);
    empty = new Set(idle);
    for (const name of [...idle, 'busy']) gates.markDue(1, name);
    await turn();
    expect(sent).to.deep.equal(['busy']);
    for (const name of namesOf(2 * jobsSentMax).slice(jobsSentMax)) gates.markDue(1, name);
    await turn();
    expect(sent).to.have.length(jobsSentMax);
  });

  it('lets out what was due before the process stood still', async () => {
    gates.markDue(1, 'one');
    standStill();
    await turn();
    expect(sent).to.deep.equal(['one']);
  });

  it('counts a shop among the others for a second after its last write, with nothing of it in flight', async () => {
    let clockMs = now();
    performance.now = () => clockMs;
    empty.add('another');
    gates.markDue(2, 'another');
    await turn();
    clockMs += shopActiveMs;
    for (const name of namesOf(jobsSentMax)) gates.markDue(1, name);
    await turn();
    expect(sent).to.have.length(jobsSentSharedMax);
    // The next look is a quarter of that time later.
    clockMs += shopActiveMs / 4;
    gates.markDue(1, 'one more');
    await turn();
    expect(sent).to.have.length(jobsSentMax);
  });

  it('remembers a shop whose jobs are held up likewise', async () => {
    gates.markDue(2, 'locked');
    await turn();
    gates.holdUp(2);
    await turn();
    standStill();
    gates.markDue(1, 'one');
    await turn();
    expect(gates.inHandMax()).to.equal(writesInHandSharedMax);
  });

  it('remembers a shop whose jobs are in flight, however long they take, as one that shares the process', async () => {
    gates.markDue(2, 'slow');
    await turn();
    standStill();
    gates.markDue(1, 'one');
    await turn();
    expect(gates.inHandMax()).to.equal(writesInHandSharedMax);
    expect(sent).to.deep.equal(['slow', 'one']);
  });
});

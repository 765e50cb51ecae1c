import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { createShopGates } from '../../../api/dispatch/shop-gates.js';
import type { ShopGates } from '../../../api/dispatch/shop-gates.js';
import {
  jobsSentMax,
  jobsSentSharedMax,
  shopActiveMs,
  writesInHandMax,
  writesInHandSharedMax,
} from '../../../api/dispatch/shop-limits.js';
import type { FormedJob } from '../../../api/dispatch/waiter.js';

/** As far as the gates look at it. */
function jobOf(shopId: number, id: string): FormedJob {
  return { id, ref: { shopId, materialId: id }, open: new Set(), formedMs: 0 };
}

describe('the writes that are worth holding of a shop', () => {
  it('are fewer from the first write of another shop on, and as many again once that has been quiet', async () => {
    const gates = createShopGates({ form: () => undefined, send: () => undefined, writesBehind: () => 1 });
    gates.markDue(1, 'one');
    expect(gates.inHandMax(1)).to.equal(writesInHandMax);
    gates.markDue(2, 'another');
    expect([gates.inHandMax(1), gates.inHandMax(2)]).to.deep.equal([writesInHandSharedMax, writesInHandSharedMax]);
    // Quiet for `shopActiveMs` since its write, and a quarter of that until the next look.
    await delay(1.3 * shopActiveMs);
    gates.markDue(1, 'one');
    await turn();
    expect(gates.inHandMax(1)).to.equal(writesInHandMax);
  });

  it('are as many more as are held up, up to a bound, and of that shop alone', async () => {
    const jobs = new Map<string, FormedJob>();
    const writes = new Map([
      ['one', 30],
      ['two', 12],
      ['three', writesInHandMax],
    ]);
    const gates = createShopGates({
      form: (queue) => jobOf(1, queue),
      send: (sent) => sent.forEach((job) => jobs.set(job.id, job)),
      writesBehind: ({ id }) => writes.get(id) ?? 0,
    });
    const more = () => gates.inHandMax(1) - writesInHandMax;
    const the = (queue: string) => jobs.get(queue) ?? expect.fail(`${queue} was not sent`);
    for (const queue of writes.keys()) gates.markDue(1, queue);
    await turn();
    expect(more()).to.equal(0);
    gates.holdUp(the('one'));
    expect([more(), gates.inHandMax(2)]).to.deep.equal([30, writesInHandMax]);
    writes.set('one', 35);
    gates.holdUp(the('two'));
    expect(more(), 'another, and further writes of the first').to.equal(47);
    gates.holdUp(the('two'));
    expect(more(), 'the same once more').to.equal(47);
    gates.holdUp(the('three'));
    expect(more(), 'the bound').to.equal(writesInHandMax);
    gates.leave(the('three'));
    gates.leave(the('one'));
    expect(more()).to.equal(12);
    gates.leave(the('two'));
    expect(more()).to.equal(0);
  });
});

describe('the gate of a shop', () => {
  /** The queues whose jobs were let out, in their order. */
  let sent: string[];
  /** The jobs themselves. */
  let jobs: FormedJob[];
  /** Queues of materials that have nothing to send when they are asked. */
  let empty: Set<string>;
  let gates: ShopGates;
  const now = performance.now.bind(performance);
  beforeEach(() => {
    [sent, jobs, empty] = [[], [], new Set()];
    gates = createShopGates({
      form: (queue) => (empty.has(queue) ? undefined : jobOf(queue.startsWith('of another') ? 2 : 1, queue)),
      send: (formed) => {
        jobs.push(...formed);
        sent.push(...formed.map(({ id }) => id));
      },
      writesBehind: () => 1,
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
    // What else comes for a material that waits does not put it behind the others.
    gates.markDue(1, names[jobsSentMax] ?? '');
    for (const [index, left] of [1, 0].entries()) {
      gates.leave(jobs[index] ?? expect.fail());
      await turn();
      expect(sent).to.deep.equal(names.slice(0, names.length - left));
    }
  });

  it('lets another out for each that is held up, up to as many again, and none when such a one comes to its end', async () => {
    const names = namesOf(2 * jobsSentMax + 2);
    for (const name of names) gates.markDue(1, name);
    await turn();
    const first = jobs.slice(0, jobsSentMax);
    for (const job of first) gates.holdUp(job);
    await turn();
    expect(sent).to.deep.equal(names.slice(0, 2 * jobsSentMax));
    const [one = expect.fail(), other = expect.fail()] = jobs.slice(jobsSentMax);
    gates.holdUp(one);
    await turn();
    expect(sent, 'with one more held up').to.have.length(2 * jobsSentMax);
    gates.leave(first[0] ?? expect.fail());
    await turn();
    expect(sent, 'after the end of one that was held up').to.have.length(2 * jobsSentMax);
    gates.leave(other);
    await turn();
    expect(sent, 'after the end of another').to.have.length(2 * jobsSentMax + 1);
    gates.holdUp(one);
    await turn();
    expect(sent, 'where there is one less').to.have.length(2 * jobsSentMax + 2);
  });

  it('lets no further one out for what is said to be held up again, as it is every second', async () => {
    for (const name of namesOf(jobsSentMax + 2)) gates.markDue(1, name);
    await turn();
    const [one = expect.fail()] = jobs;
    for (let times = 0; times < 2; times += 1) gates.holdUp(one);
    await turn();
    expect(sent).to.have.length(jobsSentMax + 1);
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
    // Whole, so that a second later is a second later and not a rounding more.
    let clockMs = Math.ceil(now());
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

  it('counts a shop that is quiet no longer among the others, though its jobs are held up, and again with its next write', async () => {
    gates.markDue(2, 'of another, locked');
    await turn();
    gates.holdUp(jobs[0] ?? expect.fail());
    await turn();
    standStill();
    for (const name of namesOf(jobsSentMax)) gates.markDue(1, name);
    await turn();
    expect(sent.slice(1)).to.have.length(jobsSentMax);
    expect(gates.inHandMax(1)).to.equal(writesInHandMax);
    gates.markDue(2, 'of another');
    expect(gates.inHandMax(1)).to.equal(writesInHandSharedMax);
    expect(gates.inHandMax(2), 'with what is held up').to.equal(writesInHandSharedMax + 1);
  });

  it('remembers a shop whose jobs are in flight, however long they take, as one that shares the process', async () => {
    gates.markDue(2, 'of another, slow');
    await turn();
    standStill();
    gates.markDue(1, 'one');
    await turn();
    expect(gates.inHandMax(1)).to.equal(writesInHandSharedMax);
    expect(sent).to.deep.equal(['of another, slow', 'one']);
  });
});

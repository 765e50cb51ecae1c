import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { createCombiner } from '../../../api/dispatch/combine.js';
import type { Combiner } from '../../../api/dispatch/combine.js';
import type { Enqueued } from '../../../api/dispatch/enqueue.js';
import { jobsSentMax } from '../../../api/dispatch/shop-limits.js';
import type { FormedJob, Waiter } from '../../../api/dispatch/waiter.js';
import { updateWeight } from '../../../shared/queue/limits.js';
import { leftBehindBytes } from '../../support/memory/outliving.js';

/** Bounds of one job (pipeline §2 "Limits"). */
const [operationsMax, rowsMax, bytesMax] = [128, 2_000, 2 * 1_024 * 1_024];

describe('the jobs that are combined', () => {
  let sent: FormedJob[][];
  let enqueued: Enqueued;
  let answered: Waiter[];
  let cancelled: Waiter[];
  let combiner: Combiner;
  beforeEach(() => {
    [sent, answered, cancelled] = [[], [], []];
    enqueued = 'queued';
    combiner = createCombiner({
      enqueue: (jobs) => {
        sent.push(jobs);
        return Promise.resolve(enqueued);
      },
      answer: (waiter) => answered.push(waiter),
      cancelAtOnce: (waiters) => cancelled.push(...waiters),
    });
  });

  const waiterOf = ({ shopId = 1, materialId = 'VMAT-1', weight = 1, bytes = 1 } = {}): Waiter =>
    ({ ref: { shopId, materialId }, weight, bytes, job: undefined, graceEndsMs: undefined }) as unknown as Waiter;
  const add = (...waiters: Waiter[]) => {
    for (const waiter of waiters) combiner.add(waiter);
    return waiters;
  };
  const several = (count: number, options?: Parameters<typeof waiterOf>[0]) =>
    add(...Array.from({ length: count }, () => waiterOf(options)));
  const jobs = () => sent.flat();
  const sizes = () => jobs().map(({ open }) => open.size);
  /** Lets all of the latest job have their answers. */
  const answer = async () => {
    for (const waiter of [...(jobs().at(-1)?.open ?? [])]) combiner.leave(waiter);
    await turn();
  };

  for (const [what, count, options, each] of [
    ['operations', 2 * operationsMax + 1, {}, operationsMax],
    ['rows', 5, { weight: rowsMax / 2 }, 2],
    ['field updates', 2 * 64 + 1, { weight: updateWeight.inJob }, 64],
    ['bytes', 5, { bytes: bytesMax / 2 }, 2],
  ] as const) {
    it(`hold no more ${what} than one may, and all of them in the order in which they came`, async () => {
      const waiters = several(count, options);
      await turn();
      const inOrder: Waiter[] = [];
      for (let index = 0; index < 3; index += 1) {
        inOrder.push(...(jobs()[index]?.open ?? []));
        expect(jobs(), 'one of a material at a time').to.have.length(index + 1);
        expect(jobs()[index]?.open.size).to.equal(index < 2 ? each : 1);
        await answer();
      }
      expect(inOrder.every((waiter, index) => waiter === waiters[index])).to.equal(true);
      expect(inOrder).to.have.length(count);
    });
  }

  it('hold what came while the one before them was in flight, and nothing that has left meanwhile', async () => {
    several(1);
    await turn();
    const [, gone] = several(3);
    if (gone !== undefined) combiner.leave(gone);
    await turn();
    expect(sizes()).to.deep.equal([1]);
    await answer();
    expect(jobs()[1]?.open.size).to.equal(2);
    expect(gone?.job).to.equal(undefined);
  });

  it('are followed by the next only when the last of their operations has its answer', async () => {
    const [first, second] = several(2) as [Waiter, Waiter];
    await turn();
    several(1);
    combiner.leave(first);
    await turn();
    expect(jobs()).to.have.length(1);
    combiner.leave(second);
    await turn();
    expect(sizes().at(-1)).to.equal(1);
    expect(jobs()).to.have.length(2);
  });

  it('hold one that is larger than a job may be, alone, and then what came behind it', async () => {
    const large = waiterOf({ weight: 2 * rowsMax, bytes: 2 * bytesMax });
    add(large, waiterOf());
    await turn();
    expect(jobs().map(({ open }) => [...open])).to.deep.equal([[large]]);
    await answer();
    expect(sizes()).to.deep.equal([0, 1]);
  });

  it('give their places back to their shop, however many it has had', async () => {
    const places = jobsSentMax + 1;
    for (let index = 0; index < places; index += 1) add(waiterOf({ materialId: `VMAT-${String(index)}` }));
    await turn();
    expect(jobs()).to.have.length(jobsSentMax);
    await answer();
    expect(jobs()).to.have.length(places);
  });

  it('of many materials go together, in transactions no larger than the largest job', async () => {
    for (const materialId of ['VMAT-1', 'VMAT-2', 'VMAT-3', 'VMAT-4', 'VMAT-5'])
      add(waiterOf({ materialId, bytes: bytesMax / 2 }));
    await turn();
    expect(sent.map((together) => together.length)).to.deep.equal([2, 2, 1]);
  });

  it('of many shops go in transactions of no more jobs than one shop has in flight', async () => {
    const shops = Array.from({ length: 30 }, (_, index) => index + 1);
    const materials = Array.from({ length: 10 }, (_, index) => `VMAT-${String(index)}`);
    for (const shopId of shops) for (const materialId of materials) add(waiterOf({ shopId, materialId }));
    await turn();
    expect(sent.map((together) => together.length)).to.deep.equal([128, 128, 44]);
  });

  it('are answered where they were certainly not queued, and cancelled where nobody can say', async () => {
    enqueued = 'not-queued';
    const refused = several(2);
    await turn();
    expect([answered, cancelled]).to.deep.equal([refused, []]);
    for (const waiter of refused) combiner.leave(waiter);
    enqueued = 'uncertain';
    const open = several(2);
    await turn();
    expect(cancelled).to.deep.equal(open);
    expect(answered).to.deep.equal(refused);
  });

  describe('once their material is idle', () => {
    const materials = 10_000;
    /** A line that is not forgotten is 130. */
    const bytesMax = 70;
    let count = 0;
    const ofAnother = () => waiterOf({ materialId: `VMAT-${String((count += 1))}` });

    it('leave nothing behind, though each was of another material', async () => {
      const seen = await leftBehindBytes(materials, async () => {
        const waiter = ofAnother();
        combiner.add(waiter);
        await turn();
        combiner.leave(waiter);
        sent.length = 0;
      });
      expect(seen).to.be.below(bytesMax);
    });

    it('leave nothing behind where they were given up before they were formed', async () => {
      const seen = await leftBehindBytes(materials, async () => {
        const waiter = ofAnother();
        combiner.add(waiter);
        combiner.leave(waiter);
        await turn();
      });
      expect(sent.flat()).to.deep.equal([]);
      expect(seen).to.be.below(bytesMax);
    });
  });

  it('that are held up, and what waits behind them, are worth holding beside the others of their shop', async () => {
    const before = combiner.inHandMax(1);
    several(3);
    await turn();
    const behind = several(4);
    await turn();
    const [job = expect.fail('nothing was sent')] = jobs();
    combiner.holdUp(job);
    expect(combiner.inHandMax(1) - before).to.equal(7);
    combiner.leave(behind[0] ?? expect.fail());
    expect(combiner.inHandMax(1) - before).to.equal(6);
    await answer();
    expect(combiner.inHandMax(1), 'once it has ended').to.equal(before);
    // A look-up may tell of it after that.
    combiner.holdUp(job);
    expect(combiner.inHandMax(1)).to.equal(before);
    await answer();
    sent = [];
    for (let index = 0; index <= jobsSentMax; index += 1) several(1, { materialId: `VMAT-${index}` });
    await turn();
    expect(jobs(), 'its place is free, and no other').to.have.length(jobsSentMax);
  });
});

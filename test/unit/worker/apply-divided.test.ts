import { expect } from 'chai';
import type { OperationGroup } from '../../../shared/inventory/decide.js';
import { queueName } from '../../../shared/queue/names.js';
import { applyDivided } from '../../../worker/apply-divided.js';
import { createCycleLimits } from '../../../worker/cycle-limits.js';
import { operationOf } from '../../support/shop/shop.js';

const groups = Array.from({ length: 8 }, (_, index): OperationGroup => {
  return { shopId: 1, materialId: `VMAT-${index}`, operations: [operationOf({ kind: 'adjust', rows: [] })] };
});
const [slow = expect.fail('no group')] = groups;

/** A cycle that may last as long as it likes. */
const untilTold = (isStopping: () => boolean) => createCycleLimits({ nowMs: Date.now, isStopping, endMs: Infinity });

/** How many materials each transaction had, where those with `slow` fail with this code. */
async function sizesOf(code: string): Promise<number[]> {
  const sizes: number[] = [];
  const { leftOut } = await applyDivided(groups, {
    ...untilTold(() => false),
    fail: () => expect.fail('none is at fault'),
    apply: (part) => {
      sizes.push(part.length);
      if (part.includes(slow)) return Promise.reject(Object.assign(new Error('overstays'), { code }));
      return Promise.resolve({ outcomes: new Map(), leftOut: new Set() });
    },
  });
  expect([...leftOut]).to.deep.equal([queueName(slow)]);
  return sizes;
}

describe('a transaction that overstays its time', () => {
  for (const [why, code] of [
    ['it is too much work', '57014'],
    ['one of them waits for another session', '55P03'],
  ] as const) {
    it(`is done material by material where ${why}`, async () => {
      expect(await sizesOf(code)).to.deep.equal([8, 1, 1, 1, 1, 1, 1, 1, 1]);
    });
  }

  it('is divided no further once the lane is to stop: what has not begun is left out', async () => {
    const sizes: number[] = [];
    let isStopping = false;
    const { leftOut } = await applyDivided(groups, {
      ...untilTold(() => isStopping),
      fail: () => expect.fail('none is at fault'),
      apply: (part) => {
        sizes.push(part.length);
        if (part.length === groups.length)
          return Promise.reject(Object.assign(new Error('overstays'), { code: '57014' }));
        isStopping = true;
        return Promise.resolve({ outcomes: new Map(), leftOut: new Set() });
      },
    });
    expect(sizes).to.deep.equal([8, 1]);
    expect([...leftOut]).to.deep.equal(groups.slice(1).map(queueName));
  });
});

describe('the operations of one material, of which one is at fault', () => {
  const operations = Array.from({ length: 8 }, () => operationOf({ kind: 'adjust', rows: [] }));
  const group = { shopId: 1, materialId: 'VMAT-hot', operations };
  const faulty = operations[5];

  /** What became of each operation, by its place, in that order; how many each transaction had. */
  async function run(fault: Error) {
    const [sizes, done]: [number[], string[]] = [[], []];
    const take = (how: string, part: OperationGroup) => {
      for (const operation of part.operations) done.push(`${how} ${operations.indexOf(operation)}`);
      return Promise.resolve({ outcomes: new Map(), leftOut: new Set<string>() });
    };
    const { leftOut } = await applyDivided([group], {
      ...untilTold(() => false),
      fail: (alone, given) => {
        expect(given).to.equal(fault);
        return take('failed', alone);
      },
      apply: ([part = expect.fail('no group')]) => {
        sizes.push(part.operations.length);
        if (part.operations.some((operation) => operation === faulty)) return Promise.reject(fault);
        return take('applied', part);
      },
    });
    return { sizes, done, leftOut: [...leftOut] };
  }

  it('are divided in halves, in their order, until it fails twice alone and is recorded', async () => {
    const { sizes, done, leftOut } = await run(new Error('a fault of ours'));
    expect(sizes).to.deep.equal([8, 8, 4, 4, 2, 1, 1, 1, 2]);
    expect(done).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7].map((at) => `${at === 5 ? 'failed' : 'applied'} ${at}`));
    expect(leftOut).to.deep.equal([]);
  });

  it('end also where there are none, as in a job of somebody else', async () => {
    const ended: OperationGroup[] = [];
    const none = { ...group, operations: [] };
    await applyDivided([none], {
      ...untilTold(() => false),
      apply: () => Promise.reject(new Error('a fault of ours')),
      fail: (alone) => {
        ended.push(alone);
        return Promise.resolve({ outcomes: new Map(), leftOut: new Set() });
      },
    });
    expect(ended).to.deep.equal([none]);
  });

  it('are done up to it where it overstays, and the others do not overtake it', async () => {
    const { sizes, done, leftOut } = await run(Object.assign(new Error('overstays'), { code: '57014' }));
    expect(sizes).to.deep.equal([8, 4, 4, 2, 1, 1]);
    expect(done).to.deep.equal([0, 1, 2, 3, 4].map((at) => `applied ${at}`));
    expect(leftOut).to.deep.equal([queueName(group)]);
  });
});

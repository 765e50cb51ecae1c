import { expect } from 'chai';
import type { OperationGroup } from '../../../shared/inventory/decide.js';
import { queueName } from '../../../shared/queue/names.js';
import { applyInParts } from '../../../worker/apply-in-parts.js';
import { operationOf } from '../../support/shop/shop.js';

const groups = Array.from({ length: 8 }, (_, index): OperationGroup => {
  return { shopId: 1, materialId: `VMAT-${index}`, operations: [operationOf({ kind: 'adjust', rows: [] })] };
});
const [slow = expect.fail('no group')] = groups;

/** How many materials each transaction had, where those with `slow` fail with this code. */
async function sizesOf(code: string): Promise<number[]> {
  const sizes: number[] = [];
  const { leftOut } = await applyInParts(groups, {
    isStopping: () => false,
    endMs: Infinity,
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
  it('is done in halves, and those again, where it is too much work', async () => {
    expect(await sizesOf('57014')).to.deep.equal([8, 4, 4, 2, 2, 1, 1]);
  });

  it('is divided no further once the lane is to stop: what has not begun is left out', async () => {
    const sizes: number[] = [];
    let isStopping = false;
    const { leftOut } = await applyInParts(groups, {
      isStopping: () => isStopping,
      endMs: Infinity,
      apply: (part) => {
        sizes.push(part.length);
        if (part.length === groups.length)
          return Promise.reject(Object.assign(new Error('overstays'), { code: '57014' }));
        isStopping = true;
        return Promise.resolve({ outcomes: new Map(), leftOut: new Set() });
      },
    });
    expect(sizes).to.deep.equal([8, 4]);
    expect([...leftOut]).to.deep.equal(groups.slice(4).map(queueName));
  });

  it('is done material by material at once, where one of them waits for another session', async () => {
    expect(await sizesOf('55P03')).to.deep.equal([8, 1, 1, 1, 1, 1, 1, 1, 1]);
  });
});

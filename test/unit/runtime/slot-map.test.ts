import { expect } from 'chai';
import { createSlotMap } from '../../../shared/runtime/slot-map.js';
import { outlivingBytes } from '../../support/memory/outliving.js';

describe('a slot map', () => {
  it('finds what was put in, and lists it in the order of its coming', () => {
    const slotMap = createSlotMap<number>();
    slotMap.set('b', 1);
    slotMap.set('a', 2);
    slotMap.set('b', 3);
    expect([slotMap.get('a'), slotMap.get('b'), slotMap.get('c')]).to.deep.equal([2, 3, undefined]);
    expect([slotMap.has('a'), slotMap.has('c'), slotMap.size()]).to.deep.equal([true, false, 2]);
    expect(slotMap.values()).to.deep.equal([3, 2]);
  });

  it('says whether what is deleted was there', () => {
    const slotMap = createSlotMap<number>();
    slotMap.set('a', 0);
    expect([slotMap.delete('a'), slotMap.delete('a'), slotMap.has('a'), slotMap.size()]).to.deep.equal([
      true,
      false,
      false,
      0,
    ]);
    expect(slotMap.values()).to.deep.equal([]);
  });

  describe('whose entries come and go', () => {
    const bytes = 8_000;
    const entries = 1_000;
    /** How many are in it at once. */
    const held = 6;

    /** Puts one in and takes the oldest out. */
    function churn(set: (id: string, value: object) => void, remove: (id: string) => void): () => void {
      let count = 0;
      return () => {
        set(`id-${String(count)}`, { payload: new Array(bytes / 8).fill(0.5) });
        if (count >= held) remove(`id-${String(count - held)}`);
        count += 1;
      };
    }

    it('keeps little of those that are gone', async () => {
      const slotMap = createSlotMap<object>();
      const seen = await outlivingBytes(entries, churn(slotMap.set, slotMap.delete));
      expect(seen).to.be.below(bytes / 4);
    });

    it('is not what a Map is to V8: that keeps most of them until a full collection', async () => {
      const map = new Map<string, object>();
      const seen = await outlivingBytes(
        entries,
        churn(
          (id, value) => map.set(id, value),
          (id) => map.delete(id),
        ),
      );
      expect(seen, 'if this fails, V8 has mended it, and a Map will do').to.be.above(bytes / 2);
    });
  });
});

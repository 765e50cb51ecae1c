import { expect } from 'chai';
import { createSlotMap } from '../../../shared/runtime/slot-map.js';
import { outlivingBytes } from '../../support/outliving.js';

describe('a registry', () => {
  it('finds what was put in, and lists it in the order of its coming', () => {
    const registry = createSlotMap<number>();
    registry.set('b', 1);
    registry.set('a', 2);
    registry.set('b', 3);
    expect([registry.get('a'), registry.get('b'), registry.get('c')]).to.deep.equal([2, 3, undefined]);
    expect([registry.has('a'), registry.has('c'), registry.size()]).to.deep.equal([true, false, 2]);
    expect(registry.values()).to.deep.equal([3, 2]);
  });

  it('says whether what is deleted was there', () => {
    const registry = createSlotMap<number>();
    registry.set('a', 0);
    expect([registry.delete('a'), registry.delete('a'), registry.has('a'), registry.size()]).to.deep.equal([
      true,
      false,
      false,
      0,
    ]);
    expect(registry.values()).to.deep.equal([]);
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
      const registry = createSlotMap<object>();
      const seen = await outlivingBytes(entries, churn(registry.set, registry.delete));
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

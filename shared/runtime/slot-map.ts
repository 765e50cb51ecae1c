/** A map by id, in the order of insertion, with those operations of a `Map` that are used. */
export interface SlotMap<Value> {
  set: (id: string, value: Value) => void;
  get: (id: string) => Value | undefined;
  has: (id: string) => boolean;
  /** @returns whether it was there */
  delete: (id: string) => boolean;
  size: () => number;
  values: () => Value[];
}

/**
 * For values that come and go with every request, of which a plain `Map` would keep the garbage alive. V8 replaces the
 * table of a `Map` once as many entries were added as fit into it, and makes the old table point to the new one, for
 * iterators that are still in it. A replaced table that has become old is not collected until the old generation is;
 * until then it keeps the next table alive, and that one the next, with all that was in any of them: 16 KB for each
 * request. Here a table contains slots, and a slot is emptied when its value is deleted.
 */
export function createSlotMap<Value>(): SlotMap<Value> {
  const slots = new Map<string, { value: Value | undefined }>();
  return {
    set(id, value) {
      slots.set(id, { value });
    },
    get: (id) => slots.get(id)?.value,
    has: (id) => slots.has(id),
    delete(id) {
      const slot = slots.get(id);
      if (slot === undefined) return false;
      slot.value = undefined;
      return slots.delete(id);
    },
    size: () => slots.size,
    values: () => [...slots.values()].flatMap(({ value }) => (value === undefined ? [] : [value])),
  };
}

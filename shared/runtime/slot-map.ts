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
 * For values that come and go with every request, where a bare `Map` would keep the garbage of all of them. V8 replaces
 * the table of a `Map` after as many entries as fit into it, and has the old table point to the new one, for iterators
 * that are walking it. An old table in the old generation is garbage, yet until that generation is collected it keeps
 * the next table alive, and that one the next, with all that stood in any of them, a request of 16 KB each. Here a
 * table holds slots, and a slot is emptied when its value goes.
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

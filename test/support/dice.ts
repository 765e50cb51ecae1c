/** Random choices that a seed repeats: every fault run prints its own, and `TEST_SEED` sets it (reliability §2). */
export interface Dice {
  seed: number;
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** @param title printed with the seed, so that a failed run can be repeated */
export function createDice(title: string): Dice {
  const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 0xffff_ffff));
  console.log(`      ${title}: TEST_SEED=${String(seed)}`);
  return diceOf(seed);
}

/** As `createDice`, of a seed that is known already. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  // Mulberry32: 32 bits of state are plenty for choosing what a test does next.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    seed,
    below,
    chance: (probability) => next() < probability,
    pick: (list) => {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new RangeError('nothing to pick from');
      return picked;
    },
  };
}

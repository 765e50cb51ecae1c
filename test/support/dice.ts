import { createRandom } from '../load/random.js';

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
  const next = createRandom(seed);
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

/** Numbers from 0 to below 1, the same for the same seed: every design of a round meets the same requests in order. */
export type Random = () => number;

/** Mulberry32: a 32-bit generator whose quality is ample for choosing materials, at 2 ns a number. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Indices from 0 to `count - 1`, the n-th as likely as 1/n (Zipf with exponent 1.0). */
export function createZipf(count: number, random: Random): () => number {
  const cumulative = new Float64Array(count);
  let sum = 0;
  for (let index = 0; index < count; index += 1) cumulative[index] = sum += 1 / (index + 1);
  return () => {
    const wanted = random() * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((cumulative[middle] ?? sum) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

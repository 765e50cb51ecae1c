import fc from 'fast-check';

/** A value, or none as often. (With a `freq` of 1, fast-check's `option` would never have a value.) */
export function maybe<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { freq: 2, nil: undefined });
}

/** True once in eight times. */
export const rarely: fc.Arbitrary<boolean> = fc.nat(7).map((one) => one === 7);

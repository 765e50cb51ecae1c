import { report } from './long-run.js';

/** Adds the tests of the suite that it is called in to the closing table of a long run, as so many of a unit. */
export function countCases(test: string, unit: string): void {
  let [count, failures] = [0, 0];
  afterEach(function () {
    count += 1;
    if (this.currentTest?.state === 'failed') failures += 1;
  });
  after(() => {
    report({ test, unit, count, failures });
  });
}

import { writeSync } from 'node:fs';
import Mocha from 'mocha';

/**
 * Mocha's `spec`, and after it, as the last line of the run, `N passed, M failed` for runners that read a line.
 * It is written when the process exits: a run that hangs on something left open has no result, and shows none.
 * A default export since that is how mocha takes a reporter.
 */
export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const { stats } = runner;
    process.once('exit', (code) => {
      // Otherwise a process.exit in the middle of the run would turn the tests that did not run into a success. A run
      // without tests is no success either: `fail-zero` says so as well, but only after this.
      const cutShort = stats.end === undefined || stats.tests === 0;
      if (cutShort && code === 0) process.exitCode = 1;
      const failed = cutShort || (code !== 0 && stats.failures === 0) ? stats.failures + 1 : stats.failures;
      writeSync(1, `${stats.passes} passed, ${failed} failed\n`);
    });
  }
}

/**
 * Mutation testing of the rules: what can be broken without a test noticing is not known by its tests.
 *
 * Mocha 12 is not yet known to Stryker's own runner, so each mutant is a run of mocha by command, which ends at the first
 * failure. The rules are pure, and their tests need neither Postgres nor Redis.
 */
export default {
  mutate: ['shared/domain/*.ts'],
  testRunner: 'command',
  commandRunner: {
    // Fewer generated rows than `npm test` has: a mutant that needs 200,000 of them to show is as good as alive.
    command:
      'TEST_LONG=1 TEST_SIZE=5000 mocha --no-config --no-package --bail --import=tsx --extension=ts test/unit/domain/*.test.ts',
  },
  coverageAnalysis: 'off',
  concurrency: 2,
  timeoutMS: 60_000,
  reporters: ['clear-text', 'html', 'progress'],
  htmlReporter: { fileName: 'coverage/mutation.html' },
  tempDirName: '.stryker-tmp',
  ignorePatterns: ['.data', 'dist', 'coverage', 'test/bench'],
  thresholds: { high: 100, low: 95, break: 95 },
};

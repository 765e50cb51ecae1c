// First, before anything is compiled.
import './judge-schemas.js';
import { closeAll, closeLeaks, endWithParent } from './processes/cleanup.js';
import { openExitProblems, throwExitProblems } from './processes/exit-problems.js';

/**
 * Mocha's root hooks. Nothing starts here: a server starts at its first use and ends with the process that runs the
 * tests.
 */
export const mochaHooks = {
  /**
   * Before each file, after which mocha takes away all listeners. A rejection that nobody hears ends a process of the
   * service; mocha alone would let it pass.
   */
  beforeAll(): void {
    process.on('unhandledRejection', (reason) => {
      throw reason;
    });
  },
  /** After each file if mocha runs them in processes of their own (`npm test`), otherwise once at the end. */
  async afterAll(): Promise<void> {
    await closeLeaks();
  },
};

/** Once, in the process that was started: the processes that run the files go when it goes. */
export function mochaGlobalSetup(): void {
  endWithParent();
  openExitProblems();
}

/** Once, as above. In the processes that run the files, their exit closes what is for the whole run. */
export async function mochaGlobalTeardown(): Promise<void> {
  try {
    await closeAll();
    throwExitProblems();
  } catch (error) {
    // Or the reporter, which writes at the exit, would not know: mocha sets the exit code only after it.
    process.exitCode = 1;
    throw error;
  }
}

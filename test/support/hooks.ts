import { closeAll, closeLeaks, endWithParent } from './cleanup.js';
import { openExitProblems, throwExitProblems } from './exit-problems.js';

/** Mocha's root hooks. Nothing starts here: a server starts at its first use and ends with the process that runs the tests. */
export const mochaHooks = {
  /** After each file where mocha runs them in processes of their own (`npm test`), once at the end where it does not. */
  async afterAll(): Promise<void> {
    await closeLeaks();
  },
};

/** Once, in the process that was started: the processes that run the files go when it goes. */
export function mochaGlobalSetup(): void {
  endWithParent();
  openExitProblems();
}

/** Once, as above. In the processes of the files it is their exit that closes what is for the whole run. */
export async function mochaGlobalTeardown(): Promise<void> {
  try {
    await closeAll();
    throwExitProblems();
  } catch (error) {
    // Or the reporter, which speaks at the exit, would not know: mocha's own code comes after it.
    process.exitCode = 1;
    throw error;
  }
}

import { closeAll } from './cleanup.js';

/** Mocha's root hooks. Nothing starts here: a server starts at its first use and ends with the run. */
export const mochaHooks = {
  async afterAll(): Promise<void> {
    await closeAll();
  },
};

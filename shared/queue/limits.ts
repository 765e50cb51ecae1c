/**
 * Materials that a lane holds at most (pipeline §2 "Limits"). What follows from it is derived: how many busy ones it
 * keeps while others are ready, and how many jobs of one shop are worth sending.
 */
export const materialsPerCycleMax = 32;

/** Rows of adjustments of one job, or of what weighs as much. */
export const rowsPerJobMax = 2_000;

/** At this weight (`Job.weight`) a transaction takes no further job. It always takes at least one. */
export const rowsPerTransactionMax = 10_000;

/**
 * The result of a field update is the whole material, up to 71 KB, and the results of a transaction are one message:
 * 1,536 updates of the largest materials made 48 MB, and at that Redis closes the connection that should hear them; 250
 * made 17 MB, and the worker stood for a second. With 12 in a job, a material had 2,261 and 2,847 updates a second over
 * 64 connections, where it has 4,248 and 4,805 with 64.
 */
const updatesPerJobMax = 64;
/** With so many a transaction takes no further job. */
const updatesPerTransactionMax = 63;

/** How many rows of adjustments a field update counts as. */
export const updateWeight = {
  inJob: Math.floor(rowsPerJobMax / updatesPerJobMax),
  inTransaction: Math.ceil(rowsPerTransactionMax / updatesPerTransactionMax),
} as const;

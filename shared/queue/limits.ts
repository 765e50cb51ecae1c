/**
 * Materials that a lane holds at most (pipeline §2 "Limits"). What follows from it is derived: how many busy ones it
 * keeps while others are ready, and how many jobs of one shop are worth sending.
 */
export const materialsPerCycleMax = 32;

/**
 * How many rows of adjustments a field update counts as. Its result is the whole material, up to 71 KB, and the results
 * of a transaction are one message: 1,536 updates of the largest materials made 48 MB, and at that Redis closes the
 * connection that should hear them; 250 made 17 MB, and the worker stood for a second. So a job takes 64, and a
 * transaction takes jobs until it has 63. With 12 in a job, a material had 2,261 and 2,847 updates a second over 64
 * connections, where it has 4,248 and 4,805 with 64.
 */
export const updateWeight = { inJob: 31, inTransaction: 160 } as const;

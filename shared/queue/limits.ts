/**
 * Materials that a lane holds at most (pipeline §2 "Limits"). What follows from it is derived: how many busy ones it
 * keeps while others are ready, and how many jobs of one shop are worth sending.
 */
export const materialsPerCycleMax = 32;

import { materialsPerCycleMax } from '../../shared/queue/limits.js';

/**
 * Jobs in flight at once of a shop that has this process to itself: as many as two worker processes of two lanes each
 * hold. That keeps the workers busy; any more would only wait there.
 */
export const jobsSentMax = 2 * 2 * materialsPerCycleMax;

/**
 * Jobs in flight at once of a shop that shares this process with others. The more there are, the longer is each turn of
 * this process's event loop and each cycle of a lane, for which all other shops wait. Beside a flood of 700 connections
 * with 128 jobs in flight, another shop's p99 was 107 ms. Now that full collections of garbage are rare, it is 17 ms
 * with 16, and 10 ms with 10. The flood still gets half of what it would have alone, its fair share of two. Two floods
 * get a tenth less together.
 */
export const jobsSentSharedMax = 10;

/** Writes worth holding of a shop that has this process to itself: those in flight, and as many again to follow. */
export const writesInHandMax = 2 * jobsSentMax;

/**
 * Writes worth holding of a shop that shares this process. Every garbage collection copies what is held, while all
 * shops wait: with 256 in hand it took 7 ms, 18 times a second. Not fewer than this, because writes of one material are
 * combined: with 32 a flood of one material gets half of what it would have alone, with 24 two fifths.
 */
export const writesInHandSharedMax = 32;

/** A shop counts as one that shares the process from its first write until this long after its last. */
export const shopActiveMs = 1_000;

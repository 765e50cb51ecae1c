/**
 * A server that a process cannot start without is not there, or refuses it: no fault of ours, and it may pass. It
 * stands here because those who find it out (`database`, `redis`) and who ends the process for it (`runtime`) know this
 * folder alone.
 */
export class Unavailable extends Error {}

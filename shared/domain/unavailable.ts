/** A server that a process cannot start without is not there, or refuses it: no fault of ours, and it may pass. */
export class Unavailable extends Error {}

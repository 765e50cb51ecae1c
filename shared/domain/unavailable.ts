/** A server that a process cannot start without is not there, or lets it not in: no fault of ours, and it may pass. */
export class Unavailable extends Error {}

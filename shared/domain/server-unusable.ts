/**
 * A server that a process needs for its start is away, or refuses it. That is no fault of ours, and may pass. The
 * class is here because `database` and `redis` throw it and `runtime` ends the process for it, and this folder is the
 * only one that all three may import.
 */
export class ServerUnusable extends Error {}

/** A change that was queued and not answered in time. */
export interface OpenChange {
  materialId: string;
  requestId: string;
  /** Whether it has an idempotency key, by which the client can settle it. */
  hasKey: boolean;
  /** It moves no stock: the history has nothing of it. */
  fieldsOnly: boolean;
}

/** What a surface tells its client to do next, in its own terms: a path, a header, a tool. */
export interface Wording {
  /** Where a key came with another request before (contract §7). */
  keyReused: string;
  /** How the outcome of a change is learnt that was open at the end of the wait (contract §5, 504). */
  openOutcome: (change: OpenChange) => string;
}

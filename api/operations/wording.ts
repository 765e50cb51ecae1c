/** A change that was queued and not answered in time. */
export interface OpenChange {
  materialId: string;
  requestId: string;
  /** Whether it has an idempotency key, by which the client can settle it. */
  hasKey: boolean;
  /** It moves no stock: the history has nothing of it. */
  fieldsOnly: boolean;
}

/** What a client is told to do next, in the terms of its surface: a path and a header, or a tool. */
export interface Wording {
  /** For a key that was used with another request before (contract §7). */
  keyReused: string;
  /** For a change whose outcome is unknown at the end of its wait: how to find it out (contract §5, 504). */
  openOutcome: (change: OpenChange) => string;
}

/** What the dispatch reports as it happens; each call must cost next to nothing. */
export interface DispatchMetrics {
  /** A job was formed of so many operations (pipeline §2.2). */
  jobFormed: (operations: number) => void;
  /** So many operations without a reply were looked up in Postgres. */
  lookedUp: (operations: number) => void;
  /** A job had vanished from Redis and was added again. */
  jobAddedAgain: () => void;
  /** So many operations were cancelled, at the end of their wait or at once: certainly not applied. */
  cancelled: (operations: number) => void;
  /** An operation could neither be cancelled nor found decided: it is open, and answered so. */
  outcomeUnknown: () => void;
}

/** What the dispatch knows of itself and of the pipeline. */
export interface DispatchState {
  writesInFlight: number;
  /** Whether each of its Redis connections can be used. */
  redis: { producer: boolean; replies: boolean };
  /** Undefined while Redis does not answer. */
  pipeline: { readyMaterials: number; oldestReadyMs: number; liveWorkers: number } | undefined;
}

export interface CircuitBreaker {
  /** Whether a call begun now would get through. */
  admits(): boolean;
  /**
   * Runs the call if the circuit lets it through, else answers `open` without calling. Closed: every call goes through.
   * Open: none does until the cool-down is over; then a single probe decides between closed and open again.
   */
  run<T>(
    call: () => Promise<T>,
    isFailure: (outcome: T) => boolean,
  ): Promise<{ open: false; outcome: T } | { open: true }>;
}

/**
 * A circuit breaker that opens after `failuresToOpen` failures in a row and probes after `coolDownMs`. Own code, not
 * cockatiel: its current 4.0.0 wants Node 22, and it reads Date.now(), lets callers wait behind a probe and counts
 * exceptions, where our expected failures are values.
 */
export function createCircuitBreaker(deps: {
  failuresToOpen: number;
  coolDownMs: number;
  nowMs: () => number;
  onChange: (state: 'opened' | 'closed') => void;
}): CircuitBreaker {
  const { failuresToOpen, coolDownMs, nowMs, onChange } = deps;
  let state: State = { kind: 'closed', failures: 0 };

  function admits(): boolean {
    if (state.kind === 'open') return nowMs() - state.sinceMs >= coolDownMs;
    return state.kind === 'closed';
  }

  function open(): void {
    const wasProbing = state.kind === 'probing';
    state = { kind: 'open', sinceMs: nowMs() };
    if (!wasProbing) onChange('opened');
  }

  function conclude(probe: boolean, failed: boolean): void {
    // A call that began before the circuit opened says nothing about the platform now: only the probe may close it.
    if (!probe && state.kind !== 'closed') return;
    if (!failed) {
      state = { kind: 'closed', failures: 0 };
      if (probe) onChange('closed');
      return;
    }
    const failures = state.kind === 'closed' ? state.failures + 1 : failuresToOpen;
    if (failures >= failuresToOpen) open();
    else state = { kind: 'closed', failures };
  }

  return {
    admits,
    async run(call, isFailure) {
      if (!admits()) return { open: true };
      const probe = state.kind === 'open';
      if (probe) state = { kind: 'probing' };
      let failed = true;
      try {
        const outcome = await call();
        failed = isFailure(outcome);
        return { open: false, outcome };
      } finally {
        conclude(probe, failed);
      }
    },
  };
}

type State = { kind: 'closed'; failures: number } | { kind: 'open'; sinceMs: number } | { kind: 'probing' };

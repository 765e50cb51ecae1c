/** A part of a run: its load goes from one figure to another in a straight line. */
export interface Stage {
  ms: number;
  /** Connections in a closed loop, requests a second in an open one. */
  from: number;
  to: number;
  /** Neither its answers nor its latencies count. */
  isWarmup: boolean;
}

/** Where in a run a moment lies, all in milliseconds of one clock. */
export interface StageClock {
  startMs: number;
  /** The end of each stage. */
  endsMs: readonly number[];
  endMs: number;
  /** Index of the stage; as many as there are stages once the run is over. */
  stageAt(ms: number): number;
  /** The load that should be then; that of the first or last stage outside of the run. */
  loadAt(ms: number): number;
}

export function createStageClock(stages: readonly Stage[], startMs: number): StageClock {
  let sum = startMs;
  const endsMs = stages.map(({ ms }) => (sum += ms));
  const stageAt = (ms: number) => {
    const found = endsMs.findIndex((end) => ms < end);
    return found < 0 ? stages.length : found;
  };
  return {
    startMs,
    endsMs,
    endMs: sum,
    stageAt,
    loadAt(ms) {
      const index = Math.min(stageAt(ms), stages.length - 1);
      const stage = stages[index];
      if (stage === undefined) return 0;
      const beginMs = (endsMs[index] ?? 0) - stage.ms;
      const part = Math.min(1, Math.max(0, (ms - beginMs) / stage.ms));
      return stage.from + (stage.to - stage.from) * part;
    },
  };
}

import type { LatencySummary } from '../load/histogram.js';
import type { DesignName } from './designs.js';
import type { Failures } from './failures.js';
import type { ProcessRole } from './process-times.js';
import type { ScenarioName } from './scenarios.js';

/** The load of a round. */
export type RoundLoad =
  { loop: 'closed'; connections: number } | { loop: 'open'; rate: number; connectionsMax: number };

export interface RoundPlan {
  scenario: ScenarioName;
  load: RoundLoad;
  seed: number;
  warmupMs: number;
  measureMs: number;
}

/** A window of load against a design, and what every counter said at its two ends. */
export interface Round {
  design: DesignName;
  scenario: ScenarioName;
  load: RoundLoad;
  pool: number | undefined;
  workers: number;
  measuredMs: number;
  requestsASecond: number;
  rowsASecond: number;
  latency: LatencySummary;
  /** Of 429 and 503, from when they were sent. */
  refusals: LatencySummary;
  percentiles: { percentile: number; ms: number }[];
  /** Answers other than full successes, by how they ended. */
  failures: Failures;
  neverSent: number;
  withoutRetryAfter: number;
  /** CPU milliseconds of each kind of process for a request; undefined where the system does not tell. */
  cpuMsARequest: Record<ProcessRole, number> | undefined;
  /** The most memory of one of its processes within the round, MiB. */
  peakMib: { api: number; worker: number } | undefined;
  /** The part of the machine that other programs used meanwhile, or its host for other machines, in cores. */
  foreignCores: number | undefined;
  /** What its database and its acknowledgements disagree about. */
  problems: string[];
}

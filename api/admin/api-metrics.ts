import { Counter, Histogram, Registry } from 'prom-client';
import { addGauge } from '../../shared/metrics/gauges.js';
import type { Dispatch } from '../dispatch/dispatch.js';
import type { DispatchMetrics, DispatchState } from '../dispatch/dispatch-metrics.js';

/** What is counted of a request that is over, whether or not its answer reached the client. */
interface AnsweredRequest {
  method: string;
  /** The pattern of its path; undefined where it has no route, or was refused before that was known. */
  route: string | undefined;
  status: number;
  /** What REST would have answered in place of a tool that refused an agent, with HTTP's 200. */
  toolStatus: number | undefined;
  seconds: number;
}

/** What an API process counts, for the admin port (reliability §3); no label names a shop or a material. */
export interface ApiMetrics {
  registry: Registry;
  answered: (request: AnsweredRequest) => void;
  /** The server refused a request, with this status, before the app saw it. */
  refusedBeforeApp: (status: number) => void;
  /** `uncounted`: neither Redis nor the insurance could count it, so it was let through. */
  limiterDecided: (decision: 'allowed' | 'limited' | 'uncounted') => void;
  /** The limiter's insurance counted so many requests in process memory, since Redis did not. */
  limiterInsured: (requests: number) => void;
  dispatch: DispatchMetrics;
}

/** A write is answered within its wait and its grace: 11 s, unless WAIT_MS is set higher. */
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 12];
const operationBuckets = [1, 2, 4, 8, 16, 32, 64, 128];

/** Counters in a registry of their own. They cost a request 0.8 µs (`answered` mostly). */
export function createApiMetrics(): ApiMetrics {
  const registry = new Registry();
  const registers = [registry];
  const decisions = new Counter({
    name: 'raw_materials_limiter_decisions_total',
    help: 'Requests that came before the rate limit, by what it decided.',
    labelNames: ['decision'],
    registers,
  });
  const decided = {
    allowed: decisions.labels('allowed'),
    limited: decisions.labels('limited'),
    uncounted: decisions.labels('uncounted'),
  };
  for (const decision of Object.values(decided)) decision.inc(0);
  const insured = new Counter({
    name: 'raw_materials_limiter_insured_total',
    help: 'Requests that the rate limit counted in process memory, since Redis did not.',
    registers,
  });
  const refused = new Counter({
    name: 'raw_materials_http_refused_total',
    help: 'Requests refused before they were routed, by status: no HTTP, a bad head, or still waiting for their turn.',
    labelNames: ['status'],
    registers,
  });
  return {
    registry,
    answered: countRequests(registry),
    refusedBeforeApp: (status) => refused.inc({ status }),
    limiterDecided: (decision) => decided[decision].inc(),
    limiterInsured: (requests) => insured.inc(requests),
    dispatch: countDispatch(registry),
  };
}

interface RouteCounters {
  seconds: { observe: (seconds: number) => void };
  byStatus: Map<number, { inc: () => void }>;
}

const noRoute = 'none';
/** A client may send any verb; a label must not grow with what clients think of. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function countRequests(registry: Registry): ApiMetrics['answered'] {
  const registers = [registry];
  const total = new Counter({
    name: 'raw_materials_http_requests_total',
    help: 'Requests by method, route and status; 499: the client had gone before its answer.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'raw_materials_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer.',
    labelNames: ['method', 'route'],
    buckets: secondsBuckets,
    registers,
  });
  const refusedByTools = new Counter({
    name: 'raw_materials_tool_refusals_total',
    help: "Calls that tools refused agents, by the status that REST has for it; HTTP's is 200.",
    labelNames: ['status'],
    registers,
  });
  // With none before it, Prometheus would not see the first as an increase.
  for (const status of [500, 502, 503, 504]) refusedByTools.inc({ status }, 0);
  // Each counter is bound to its labels once: looking it up by label values would cost as much as the counting.
  const byRoute = new Map<string, Map<string, RouteCounters>>();
  return ({ method, route = noRoute, status, toolStatus, seconds }) => {
    if (toolStatus !== undefined) refusedByTools.inc({ status: toolStatus });
    let byMethod = byRoute.get(route);
    if (byMethod === undefined) byRoute.set(route, (byMethod = new Map<string, RouteCounters>()));
    const verb = knownMethods.has(method) ? method : 'other';
    let counters = byMethod.get(verb);
    if (counters === undefined) {
      counters = { seconds: duration.labels(verb, route), byStatus: new Map() };
      byMethod.set(verb, counters);
    }
    let counter = counters.byStatus.get(status);
    if (counter === undefined) counters.byStatus.set(status, (counter = total.labels(verb, route, String(status))));
    counter.inc();
    counters.seconds.observe(seconds);
  };
}

function countDispatch(registry: Registry): DispatchMetrics {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const jobs = new Histogram({
    name: 'raw_materials_job_operations',
    help: 'Operations that were combined into a job.',
    buckets: operationBuckets,
    registers,
  });
  const lookUps = counter('raw_materials_outcome_lookups_total', 'Operations without a reply that were looked up.');
  const addedAgain = counter('raw_materials_jobs_added_again_total', 'Jobs that Redis had lost.');
  const cancelled = counter(
    'raw_materials_operations_cancelled_total',
    'Operations cancelled: at the end of their wait, at once where it was not certain that they were queued, or after a 504, and so in raw_materials_operations_open_total as well.',
  );
  const open = counter('raw_materials_operations_open_total', 'Operations answered with an unknown outcome (504).');
  return {
    jobFormed: (operations) => jobs.observe(operations),
    lookedUp: (operations) => lookUps.inc(operations),
    jobAddedAgain: () => addedAgain.inc(),
    cancelled: (operations) => cancelled.inc(operations),
    outcomeUnknown: () => open.inc(),
  };
}

/** What is behind this process, as `/readyz` sees it. Whether a worker lives is unknown while Redis is away. */
export function watchReadiness(registry: Registry, ready: Dispatch['ready']): void {
  const help = 'Whether this process is served by each part behind it: 1 or 0. At 0 every write is a 503.';
  addGauge(registry, { name: 'raw_materials_ready', help, label: 'part' }, () => {
    const { postgres, redis, worker } = ready();
    return { postgres: Number(postgres), redis: Number(redis), ...(redis && { worker: Number(worker) }) };
  });
}

/** @param waiting how many reads wait for their turn */
export function watchReads(registry: Registry, waiting: () => number): void {
  const help =
    'Reads that wait for a turn of their shop on the Postgres connections, for another large page, or until its clients read on.';
  addGauge(registry, { name: 'raw_materials_reads_waiting', help }, waiting);
}

/** The writes in this process, and what it last heard of the pipeline: the backlog and the workers. */
export function watchDispatch(registry: Registry, state: () => DispatchState): void {
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    addGauge(registry, { name, help }, read);
  gauge('raw_materials_writes_in_flight', 'Writes that this process holds.', () => state().writesInFlight);
  gauge(
    'raw_materials_backlog_materials',
    'Materials that wait for a worker; every API process says the same.',
    () => state().pipeline?.readyMaterials,
  );
  gauge('raw_materials_backlog_oldest_seconds', 'How long the first of them has waited.', () => {
    const oldestMs = state().pipeline?.oldestReadyMs;
    return oldestMs === undefined ? undefined : oldestMs / 1_000;
  });
  gauge(
    'raw_materials_live_workers',
    'Workers with a heartbeat that can use Postgres.',
    () => state().pipeline?.liveWorkers,
  );
}

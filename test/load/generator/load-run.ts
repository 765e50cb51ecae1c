import { percentileMs } from '../histogram.js';
import { createStageClock } from '../stage.js';
import type { Stage, StageClock } from '../stage.js';
import { createAccounts } from './accounts.js';
import type { Account, Accounts, MissedRow, Standing } from './accounts.js';
import type { Target } from './connection.js';
import { createLane } from './lane.js';
import type { Asked, Lane, Outcome } from './lane.js';
import { createClosedLoop, createOpenLoop } from './loop.js';
import type { Loop } from './loop.js';
import type { PlannedRequest } from './plan-requests.js';
import { createTally } from './tally.js';
import type { SeriesPoint, StageResult, Tally } from './tally.js';
import { book, judge, statusOf } from './verdict.js';

export interface LoadOrder {
  target: Target;
  loop: 'closed' | 'open';
  /** Connections at once; in a closed loop as many as its stages ask for at most. */
  connectionsMax: number;
  stages: readonly Stage[];
  /** In an open loop: see `createOpenLoop`. */
  firstDue: number;
  /** It ends once so many requests were sent. */
  requestsMax: number;
  /** A request without an answer for so long is taken for lost. */
  answerMsMax: number;
  /** For the answers to what is in flight at the end. */
  drainMsMax: number;
  /** Of a point of the series. */
  sliceMs: number;
}

export interface LoadResult {
  /** By the wall clock. */
  startedAtMs: number;
  stages: StageResult[];
  series: SeriesPoint[];
  /** All requests of the run, its warm-up and its drain included, by how they ended. */
  statuses: Record<string, number>;
  sent: number;
  /** Due, and never sent for want of a free connection. */
  neverSent: number;
  /** Refusals (429, 503) that did not say when to come again. */
  withoutRetryAfter: number;
  accounts: Account[];
  missed: MissedRow[];
}

export interface Progress {
  /** Since the start. */
  atMs: number;
  load: number;
  /** In the last slice. */
  okASecond: number;
  p50Ms: number;
  p99Ms: number;
  /** So far. */
  sent: number;
  /** Those that were no full success. */
  others: number;
  waiting: number;
}

export interface LoadHooks {
  next: () => PlannedRequest;
  /** How many kinds of requests the scenario mixes. */
  kinds: number;
  /** A stage begins; the index after the last one means the end of the load. */
  onStage: (index: number) => void;
  onProgress: (progress: Progress) => void;
}

export interface LoadRun {
  /** @throws where the service cannot be reached at the start */
  run(): Promise<LoadResult>;
  /** No further requests; what is in flight is waited for. */
  stop(): void;
  standing(material: number): Standing;
}

interface State {
  isStopped: boolean;
  sent: number;
  inFlight: number;
  others: number;
  withoutRetryAfter: number;
  statuses: Record<string, number>;
}

const tickMs = { closed: 10, open: 1 } as const;
const sweepEveryMs = 100;
/** A server's queue of connections that it has not accepted yet is some hundreds long. */
const openedAtOnceMax = 100;

export function createLoadRun(order: LoadOrder, hooks: LoadHooks): LoadRun {
  const accounts = createAccounts(hooks.kinds);
  const state: State = { isStopped: false, sent: 0, inFlight: 0, others: 0, withoutRetryAfter: 0, statuses: {} };
  return {
    run: () => runLoad(order, hooks, accounts, state),
    stop: () => {
      state.isStopped = true;
    },
    standing: (material) => accounts.standing(material),
  };
}

async function runLoad(order: LoadOrder, hooks: LoadHooks, accounts: Accounts, state: State): Promise<LoadResult> {
  let onOutcome: (lane: Lane, asked: Asked, outcome: Outcome) => void = () => undefined;
  const lanes = Array.from({ length: order.connectionsMax }, () =>
    createLane(order.target, (...seen) => onOutcome(...seen)),
  );
  try {
    await openAll(lanes);
    const startedAtMs = Date.now();
    const clock = createStageClock(order.stages, performance.now());
    const tally = createTally(order.stages, clock, order.sliceMs);
    const isStopped = () => state.isStopped;
    const hasSentAll = () => state.sent >= order.requestsMax;
    const isOver = (nowMs: number) => isStopped() || hasSentAll() || nowMs >= clock.endMs;
    const send = (lane: Lane, dueMs: number) => {
      const request = hooks.next();
      state.sent += 1;
      state.inFlight += 1;
      if (request.rows > 0) accounts.sent(request);
      lane.send(request, dueMs);
    };
    const deps = { clock, send, isOver, isStopped, hasSentAll, inFlight: () => state.inFlight };
    const loop = order.loop === 'open' ? createOpenLoop(deps, order.firstDue) : createClosedLoop(deps);
    onOutcome = (lane, asked, outcome) => {
      const nowMs = performance.now();
      const verdict = judge(asked.request, outcome);
      const status = statusOf(outcome, verdict);
      state.inFlight -= 1;
      state.statuses[status] = (state.statuses[status] ?? 0) + 1;
      if (verdict !== 'ok') state.others += 1;
      if (verdict === 'refused' && typeof outcome === 'object' && !outcome.hasRetryAfter) state.withoutRetryAfter += 1;
      tally.record(asked, status, verdict, nowMs);
      if (asked.request.rows > 0) book(accounts, asked.request, outcome, verdict);
      loop.onFree(lane);
    };
    hooks.onStage(0);
    for (const lane of lanes) loop.onFree(lane);
    const endedMs = await untilOver({ order, hooks, state, lanes, loop, clock, tally, isOver });
    const { sent, statuses, withoutRetryAfter } = state;
    return {
      startedAtMs,
      stages: tally.stages(endedMs),
      series: tally.series(endedMs),
      statuses,
      sent,
      neverSent: loop.waiting(),
      withoutRetryAfter,
      accounts: accounts.all(),
      missed: accounts.missed(),
    };
  } finally {
    for (const lane of lanes) lane.close();
  }
}

interface Running {
  order: LoadOrder;
  hooks: LoadHooks;
  state: State;
  lanes: Lane[];
  loop: Loop;
  clock: StageClock;
  tally: Tally;
  isOver: (nowMs: number) => boolean;
}

/** @returns when the load ended; what was in flight then has been answered since, or was given up */
async function untilOver({ order, hooks, state, lanes, loop, clock, tally, isOver }: Running): Promise<number> {
  let endedMs: number | undefined;
  let begun = 0;
  const tellStages = (stage: number) => {
    while (begun < stage) hooks.onStage((begun += 1));
  };
  // A timer of its own for each boundary: whoever reads counters there wants the very moment.
  const timers: NodeJS.Timeout[] = clock.endsMs.map((endMs, index) =>
    setTimeout(() => tellStages(index + 1), endMs - performance.now()),
  );
  timers.push(setInterval(() => giveUpSilentOnceRead(lanes, performance.now() - order.answerMsMax), sweepEveryMs));
  await new Promise<void>((resolve) => {
    const tick = () => {
      const nowMs = performance.now();
      loop.tick(nowMs);
      const slice = tally.takeEndedSlice(nowMs);
      if (slice !== undefined && endedMs === undefined) {
        hooks.onProgress({
          atMs: nowMs - clock.startMs,
          load: clock.loadAt(nowMs),
          okASecond: (slice.counts.ok * 1_000) / slice.ms,
          p50Ms: percentileMs(slice.histogram, 50),
          p99Ms: percentileMs(slice.histogram, 99),
          sent: state.sent,
          others: state.others,
          waiting: loop.waiting(),
        });
      }
      if (!isOver(nowMs)) return;
      endedMs ??= Math.min(nowMs, clock.endMs);
      if (state.inFlight > 0 && nowMs > endedMs + order.drainMsMax) giveUpSilentOnceRead(lanes, nowMs);
      if (state.inFlight === 0) resolve();
    };
    timers.push(setInterval(tick, tickMs[order.loop]));
  });
  timers.forEach(clearTimeout);
  tellStages(order.stages.length);
  return endedMs ?? clock.endMs;
}

async function openAll(lanes: readonly Lane[]): Promise<void> {
  for (let start = 0; start < lanes.length; start += openedAtOnceMax) {
    await Promise.all(lanes.slice(start, start + openedAtOnceMax).map((lane) => lane.open()));
  }
}

/**
 * A request that was sent before then and has no answer yet is taken for lost. After a pause of this process the timers
 * come first, so what has arrived meanwhile is read before.
 */
function giveUpSilentOnceRead(lanes: readonly Lane[], sentBeforeMs: number): void {
  setImmediate(() => {
    for (const lane of lanes) if ((lane.busySinceMs() ?? Infinity) < sentBeforeMs) lane.giveUp();
  });
}

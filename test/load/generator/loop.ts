import type { StageClock } from '../stage.js';
import type { Lane } from './lane.js';

/** Decides when a free lane sends: the two kinds of load differ in nothing else. */
export interface Loop {
  /** Called for each lane at the start, and whenever one has become free. */
  onFree(lane: Lane): void;
  /** Called every millisecond or a few. */
  tick(nowMs: number): void;
  /** Requests that are due and wait for a free connection. */
  waiting(): number;
}

export interface LoopDeps {
  clock: StageClock;
  send: (lane: Lane, dueMs: number) => void;
  inFlight: () => number;
  /** Whether the load had ended by `nowMs`, by its time or as below; the caller says when, because time goes on. */
  isOver: (nowMs: number) => boolean;
  /** Whether it was stopped: what is due from then on is not wanted. */
  isStopped: () => boolean;
  /** Whether as many requests went out as may. */
  hasSentAll: () => boolean;
}

/**
 * A closed loop: each of so many connections sends its next request when the last was answered, so it shows throughput,
 * and hides what would queue up in front of a slow service.
 */
export function createClosedLoop({ clock, send, inFlight, isOver }: LoopDeps): Loop {
  const resting: Lane[] = [];
  const isWanted = (nowMs: number) => !isOver(nowMs) && inFlight() < Math.round(clock.loadAt(nowMs));
  return {
    onFree(lane) {
      const nowMs = performance.now();
      if (isWanted(nowMs)) send(lane, nowMs);
      else resting.push(lane);
    },
    tick(nowMs) {
      while (isWanted(nowMs)) {
        const lane = resting.pop();
        if (lane === undefined) return;
        send(lane, nowMs);
      }
    },
    waiting: () => 0,
  };
}

/** A timer of Node may fire this late; what is due is then found late by as much, which is no fault of the service. */
const timerGrainMs = 2;

/** Due times are sums, each of them rounded: one this near to the end counts as the end, at which nothing is due. */
const roundingMs = 0.001;

/** A rate below any that is asked for, so that no share of one makes an interval without an end. */
const rateMin = 0.01;
/** A second's requests of the fastest generator there is; whoever waits behind so many is never served. */
const waitingMax = 200_000;

/**
 * An open loop: requests are due at a rate of their own, whether or not the service keeps up, and their latency counts
 * from when they were due. So what queues up shows, even what waits here for want of a free connection.
 *
 * @param firstDue when the first one is due, in parts of the interval between two
 */
export function createOpenLoop({ clock, send, isOver, isStopped, hasSentAll }: LoopDeps, firstDue = 0): Loop {
  const free: Lane[] = [];
  const due = createQueue();
  const intervalMs = (atMs: number) => 1_000 / Math.max(rateMin, clock.loadAt(atMs));
  let nextMs = clock.startMs + firstDue * intervalMs(clock.startMs);
  let isPast = false;
  /** How many were due behind so many others that they were not even noted. */
  let hopeless = 0;
  const isDueAt = (nowMs: number) => nextMs <= nowMs && clock.endMs - nextMs > roundingMs;
  const goOn = () => {
    nextMs += intervalMs(nextMs);
  };
  const sendWaiting = () => {
    while (free.length > 0 && due.length() > 0 && !isStopped() && !hasSentAll()) {
      const lane = free.pop();
      if (lane !== undefined) send(lane, due.take());
    }
  };
  return {
    onFree(lane) {
      free.push(lane);
      if (!isOver(performance.now())) sendWaiting();
    },
    tick(nowMs) {
      if (isPast || isStopped()) return;
      // What was due up to the very end still goes out, where a connection is free for it.
      isPast = isOver(nowMs);
      for (; isDueAt(nowMs) && due.length() < waitingMax; goOn()) {
        due.add(nowMs - nextMs <= timerGrainMs ? nowMs : nextMs);
      }
      if (isPast) for (; isDueAt(nowMs); goOn()) hopeless += 1;
      sendWaiting();
    },
    // Beyond the number that may go out, what is due is not wanted. What waited at a stop did so in vain.
    waiting: () => (hasSentAll() ? 0 : due.length() + hopeless),
  };
}

interface Queue {
  add(ms: number): void;
  take(): number;
  length(): number;
}

/** First in, first out; an array's own `shift` moves all that stand behind. */
function createQueue(): Queue {
  const compactAfter = 10_000;
  let items: number[] = [];
  let head = 0;
  return {
    add: (ms) => items.push(ms),
    take: () => {
      const ms = items[head] ?? 0;
      head += 1;
      if (head > compactAfter) {
        items = items.slice(head);
        head = 0;
      }
      return ms;
    },
    length: () => items.length - head,
  };
}

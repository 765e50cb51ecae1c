import { connect } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import type { RecordableHistogram } from 'node:perf_hooks';

/**
 * The process that makes an overload, started by `overload.ts`: it does nothing else, so that it is not what is slow. A
 * connection carries one request at a time. With a rate, requests are sent when they are due, whatever was answered
 * before; without one, as fast as answers come.
 *
 * Not the engine of `test/load`, which asks for one shop, where here two must get their part; which opens a connection
 * anew that broke, where here none may break, idle ones included; and which sends on the connection that became free
 * last, where here the one that has waited longest is next, so that none of 2,400 is ended for its silence.
 */
export interface OverloadCall {
  port: number;
  connections: number;
  /** Requests a second. */
  rate?: number;
  /** Whichever comes first. */
  forMs: number;
  requestsMax: number;
  /** Whole requests as they go over the wire, in turn. */
  messages: string[];
}

export interface OverloadResult {
  tookMs: number;
  byStatus: Record<string, number>;
  /** Of the 200s those within that time: what was in flight then is answered after it. */
  executedInTime: number;
  /** Refusals (429, 503) without a Retry-After. */
  withoutRetryAfter: number;
  /** Connections that ended or broke. */
  broken: number;
  /** Undefined where nothing was refused. */
  refusedMs: Percentiles | undefined;
}

export interface Percentiles {
  p50: number;
  p99: number;
}

const tickMs = 2;
const microsAMs = 1_000;
const drainMsMax = 40_000;

interface Run {
  call: OverloadCall;
  sent: number;
  inFlight: number;
  isOver: boolean;
  result: OverloadResult;
  refused: RecordableHistogram;
}

interface Lane {
  send(): void;
  end(): void;
}

async function overload(call: OverloadCall): Promise<OverloadResult> {
  const run: Run = {
    call,
    sent: 0,
    inFlight: 0,
    isOver: false,
    result: { tookMs: 0, byStatus: {}, executedInTime: 0, withoutRetryAfter: 0, broken: 0, refusedMs: undefined },
    refused: createHistogram({ lowest: 1, highest: 120_000_000, figures: 3 }),
  };
  const idle: Lane[] = [];
  const onFree = (lane: Lane) => {
    if (wantsMore(run)) lane.send();
    else idle.push(lane);
  };
  const lanes = await Promise.all(Array.from({ length: call.connections }, () => openLane(run, onFree)));
  idle.push(...lanes);
  const startedMs = performance.now();
  while (performance.now() - startedMs < call.forMs && run.sent < call.requestsMax) {
    const dueCount = call.rate === undefined ? call.requestsMax : ((performance.now() - startedMs) * call.rate) / 1_000;
    // The one that waits longest: a connection that never sends is answered by a timeout.
    while (run.sent < dueCount && idle.length > 0) idle.shift()?.send();
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  run.isOver = true;
  run.result.tookMs = performance.now() - startedMs;
  const drainEndMs = performance.now() + drainMsMax;
  while (run.inFlight > 0 && performance.now() < drainEndMs)
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  if (run.inFlight > 0) throw new Error(`${String(run.inFlight)} requests were never answered`);
  for (const lane of lanes) lane.end();
  return { ...run.result, refusedMs: percentiles(run.refused) };
}

/** Whether a lane that is free goes on at once: only where no rate says when. */
function wantsMore({ call, isOver, sent }: Run): boolean {
  return call.rate === undefined && !isOver && sent < call.requestsMax;
}

function openLane(run: Run, onFree: (lane: Lane) => void): Promise<Lane> {
  const { result, call } = run;
  return new Promise((resolve, reject) => {
    const socket = connect({ port: call.port, host: '127.0.0.1', noDelay: true });
    let text = '';
    let sentMs = 0;
    let isEnded = false;
    const lane: Lane = {
      send: () => {
        run.inFlight += 1;
        sentMs = performance.now();
        socket.write(call.messages[run.sent % call.messages.length] ?? '', 'latin1');
        run.sent += 1;
      },
      end: () => {
        isEnded = true;
        socket.destroy();
      },
    };
    const onBroken = () => {
      if (!isEnded) result.broken += 1;
    };
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
      const head = wholeHead(text);
      if (head === undefined) return;
      text = '';
      run.inFlight -= 1;
      note(run, head, performance.now() - sentMs);
      onFree(lane);
    });
    socket.once('error', reject).once('close', onBroken);
    socket.once('connect', () => resolve(lane));
  });
}

/** The head of an answer, once the whole answer is there; it is ASCII, so that characters are bytes. */
function wholeHead(text: string): string | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
  return text.length < end + 4 + length ? undefined : head;
}

function note({ result, refused, isOver }: Run, head: string, ms: number): void {
  const status = head.slice(9, 12);
  result.byStatus[status] = (result.byStatus[status] ?? 0) + 1;
  if (status === '200' && !isOver) result.executedInTime += 1;
  if (status !== '503' && status !== '429') return;
  refused.record(Math.max(1, Math.round(ms * microsAMs)));
  if (!/\r\nretry-after: [1-9]/i.test(head)) result.withoutRetryAfter += 1;
}

function percentiles(histogram: RecordableHistogram): Percentiles | undefined {
  if (histogram.count === 0) return undefined;
  const at = (percent: number) => Math.round(histogram.percentile(percent) / 10) / 100;
  return { p50: at(50), p99: at(99) };
}

process.on('message', (call: OverloadCall) => {
  overload(call).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.once('disconnect', () => process.exit());

import { setTimeout as sleep } from 'node:timers/promises';
import type { Socket } from 'node:net';
import { resetSocket } from '../http/reset-socket.js';
import { untilPassable } from './fault.js';
import type { Direction, FaultState } from './fault.js';

/** One direction of a proxied connection. */
export interface Flow {
  /** Forgets what has not come through yet, and passes on nothing more. */
  discard(): void;
}

interface FlowDeps {
  state: FaultState;
  direction: Direction;
  source: Socket;
  sink: Socket;
  /** Asked for each piece: whether it goes nowhere, since one end is gone. */
  swallows: () => boolean;
  /** Resets both ends. */
  cut: () => void;
}

type Piece = { atMs: number } & ({ bytes: Buffer } | { end: 'fin' | 'reset' });

/** What is held up beyond this is left with the sender, as a full window would leave it. */
const queuedBytesMax = 1_048_576;
/** A throttled link passes what it may in slices of this long. */
const sliceMs = 50;

export function createFlow(deps: FlowDeps): Flow {
  const { state, direction, source, sink } = deps;
  const queue: Piece[] = [];
  const scanner = createScanner(state, direction);
  let queuedBytes = 0;
  let isPumping = false;
  let isDiscarded = false;

  async function pump(): Promise<void> {
    isPumping = true;
    for (let piece = queue.shift(); piece !== undefined; piece = queue.shift()) {
      await untilPassable(state, direction);
      await untilDelayed(state, direction, piece.atMs);
      if (isDiscarded) break;
      if ('bytes' in piece) {
        queuedBytes -= piece.bytes.length;
        await deliver(piece.bytes);
      } else if (piece.end === 'fin') sink.end();
      else resetSocket(sink);
      if (queuedBytes <= queuedBytesMax) source.resume();
    }
    isPumping = false;
  }

  async function deliver(bytes: Buffer): Promise<void> {
    const cutAt = scanner.cutAt(bytes);
    await write(cutAt === undefined ? bytes : bytes.subarray(0, cutAt));
    if (cutAt !== undefined) deps.cut();
  }

  async function write(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0 && !sink.destroyed;) {
      const size = sliceOf(state, direction, rest.length);
      const isRoomLeft = sink.write(rest.subarray(0, size));
      rest = rest.subarray(size);
      if (rest.length > 0) await Promise.race([sleep(sliceMs), state.healed]);
      if (!isRoomLeft) await drained(sink);
    }
  }

  function take(piece: Piece): void {
    if (deps.swallows() || isDiscarded) return;
    queue.push(piece);
    if (!isPumping) void pump();
  }

  source.on('data', (bytes: Buffer) => {
    take({ atMs: performance.now(), bytes });
    queuedBytes += bytes.length;
    if (queuedBytes > queuedBytesMax) source.pause();
  });
  source.once('end', () => take({ atMs: performance.now(), end: 'fin' }));
  source.once('error', () => take({ atMs: performance.now(), end: 'reset' }));
  return {
    discard() {
      isDiscarded = true;
      queue.length = 0;
      // What still comes is read, so that an end that is left alone is not held back by a window that nobody empties.
      queuedBytes = -Infinity;
      source.resume();
    },
  };
}

async function untilDelayed(state: FaultState, direction: Direction, atMs: number): Promise<void> {
  const { fault } = state;
  if (fault?.kind !== 'slow' || (fault.direction ?? direction) !== direction) return;
  state.struck += 1;
  const leftMs = atMs + fault.delayMs - performance.now();
  if (leftMs > 0) await Promise.race([sleep(leftMs), state.healed]);
}

function sliceOf({ fault }: FaultState, direction: Direction, length: number): number {
  if (fault?.kind !== 'slow' || fault.bytesPerSecond === undefined) return length;
  if ((fault.direction ?? direction) !== direction) return length;
  return Math.max(1, Math.floor((fault.bytesPerSecond * sliceMs) / 1_000));
}

function drained(sink: Socket): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      sink.off('drain', settle).off('close', settle);
      resolve();
    };
    sink.once('drain', settle).once('close', settle);
  });
}

/** Finds where a `reset-after` or `reset-at` cuts, also where its bytes come in several pieces. */
function createScanner(state: FaultState, direction: Direction): { cutAt(bytes: Buffer): number | undefined } {
  let generation = 0;
  let passed = 0;
  let tail = Buffer.alloc(0);
  return {
    cutAt(bytes) {
      const { fault } = state;
      if (fault?.kind !== 'reset-after' && fault?.kind !== 'reset-at') return undefined;
      if (fault.direction !== direction || state.struck >= (fault.times ?? 1)) return undefined;
      if (generation !== state.generation) {
        generation = state.generation;
        passed = 0;
        tail = Buffer.alloc(0);
      }
      const at = fault.kind === 'reset-after' ? fault.bytes - passed : middleOf(fault.pattern, tail, bytes);
      passed += bytes.length;
      if (fault.kind === 'reset-at') tail = Buffer.concat([tail, bytes]).subarray(-(fault.pattern.length - 1));
      if (at === undefined || at > bytes.length) return undefined;
      state.struck += 1;
      return Math.max(0, at);
    },
  };
}

function middleOf(pattern: Buffer, tail: Buffer, bytes: Buffer): number | undefined {
  const found = Buffer.concat([tail, bytes]).indexOf(pattern);
  return found < 0 ? undefined : found - tail.length + Math.floor(pattern.length / 2);
}

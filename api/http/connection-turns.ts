import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { callerOf } from './request-state.js';
import type { AppContext, AppMiddleware } from './request-state.js';

/**
 * Back-pressure by the socket: while a shop has enough writes in hand, a connection that has had its answer is not read
 * until its turn comes. What a client sends meanwhile waits in the kernel, where it costs neither memory nor a turn of
 * the event loop, and the connections of a shop are read in the order in which they came back.
 *
 * Without it, the requests of 2,400 connections were either held, parsed and copied by every garbage collection, or
 * refused. A refusal costs half as much as accepting and brings the client straight back: 0.16 of the peak got through
 * where all changed one material, and 0.38 where each changed another. Clients that open new connections instead still
 * meet the bounds of admission.
 */
export interface ConnectionTurns {
  take: AppMiddleware;
  /** Reads all connections, now and from now on. */
  close: () => void;
}

export interface ConnectionTurnsDeps {
  /** How many writes of a shop are worth having in hand now. */
  inHandMax: (shopId: number) => number;
  /** An idle connection is closed after so long, and one that waits for its turn is idle to Node. */
  keepAliveMs: number;
  /** Whether the connection of a request carries the requests of others as well; never by the client's word alone. */
  isForwarded: (req: IncomingMessage) => boolean;
}

/** Nobody waits longer for a turn; then admission accepts or refuses the request. */
export const turnMsMax = 1_000;

/**
 * A request that has been arriving for longer than this is not in hand until it has arrived: it cannot start, and 32
 * slow uploads left the other connections of their shop one request a second.
 */
export const arrivingMsMax = 100;

/** Free turns are given away with each answer, and also this often: a connection that got one may send nothing. */
const lookEveryMs = 5;

/** A request that was in hand before it had arrived whole. */
interface Arriving {
  req: IncomingMessage;
  sinceMs: number;
  isInHand: boolean;
}

/** The connections of one shop. */
interface Line {
  /** Requests whose answer is not known, without those that arrive slowly. */
  inHand: number;
  /** Those in hand that have not arrived whole, the first to come first. */
  arriving: Set<Arriving>;
  /** In the order of arrival, each with the time since when it waits. */
  waiting: Map<Socket, number>;
  /**
   * Goes through `waiting`. Kept, because a new iterator would have to step over the places of all that have left: a
   * thousand of 2,400.
   */
  walk: Iterator<Socket>;
  /**
   * Connections that are read again since the last look and whose request has not arrived yet, though it may be in the
   * kernel. They move to `calledBefore` at a look and are forgotten at the next: between the two, the event loop has
   * read whatever was there. Until then their places are kept; without that, the 256 in hand became 640.
   */
  called: Set<Socket>;
  calledBefore: Set<Socket>;
}

export function createConnectionTurns({ inHandMax, keepAliveMs, isForwarded }: ConnectionTurnsDeps): ConnectionTurns {
  const waitMsMax = Math.min(turnMsMax, keepAliveMs / 2);
  const lines = new Map<number, Line>();
  let looking: NodeJS.Timeout | undefined;
  let isClosed = false;

  const roomIn = (shopId: number, { inHand, called, calledBefore }: Line) =>
    inHandMax(shopId) - inHand - called.size - calledBefore.size;

  function lineOf(shopId: number): Line {
    const line = lines.get(shopId) ?? emptyLine();
    lines.set(shopId, line);
    return line;
  }

  function decided(shopId: number, isInHand: boolean): void {
    const line = lineOf(shopId);
    if (isInHand) line.inHand -= 1;
    callNext(line, roomIn(shopId, line));
    forgetIdle(shopId, line);
  }

  function answered(shopId: number, socket: Socket): void {
    // No further request is read on a connection that is being ended (`endDraining`).
    if (isClosed || !socket.writable) return;
    const line = lineOf(shopId);
    if (line.waiting.size > 0 || roomIn(shopId, line) < 1) {
      socket.pause();
      // It may already wait, if its client had sent ahead; then it keeps its time, by which the line is ordered.
      if (!line.waiting.has(socket)) line.waiting.set(socket, performance.now());
      looking ??= setInterval(look, lookEveryMs);
    }
    forgetIdle(shopId, line);
  }

  async function takeTurn(ctx: AppContext, next: () => Promise<unknown>): Promise<void> {
    const { shop } = callerOf(ctx);
    const { req } = ctx;
    const { socket } = req;
    begin(lineOf(shop.id), socket);
    const endArrival = req.complete ? undefined : watchArrival(() => lineOf(shop.id), req);
    // A proxy's connection carries the requests of many: pausing it for this shop would hold up the others.
    if (!isForwarded(req)) ctx.res.once('close', () => answered(shop.id, socket));
    try {
      await next();
    } finally {
      // Not when its answer closes: if the connection breaks, Node 20 does not tell an answer that waits for another.
      decided(shop.id, endArrival === undefined || endArrival());
    }
  }

  function forgetIdle(shopId: number, line: Line): void {
    if (line.inHand === 0 && !hasWaitingOrCalled(line)) lines.delete(shopId);
  }

  function look(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - waitMsMax;
    for (const [shopId, line] of lines) {
      leaveSlow(line, nowMs - arrivingMsMax);
      line.calledBefore = line.called;
      line.called = new Set();
      callNext(line, roomIn(shopId, line));
      callLate(line, lateMs);
      forgetIdle(shopId, line);
    }
    if ([...lines.values()].some(hasWaitingOrCalled)) return;
    clearInterval(looking);
    looking = undefined;
  }

  return {
    take: (ctx, next) => (ctx.method === 'PATCH' ? takeTurn(ctx, next) : next()),
    close() {
      isClosed = true;
      clearInterval(looking);
      for (const line of lines.values()) callNext(line, line.waiting.size);
      lines.clear();
    },
  };
}

function emptyLine(): Line {
  const waiting = new Map<Socket, number>();
  return { inHand: 0, arriving: new Set(), waiting, walk: waiting.keys(), called: new Set(), calledBefore: new Set() };
}

/** A request has come; its place, if its connection was called, is taken. */
function begin(line: Line, socket: Socket): void {
  line.inHand += 1;
  if (!line.called.delete(socket)) line.calledBefore.delete(socket);
}

/**
 * For a request in hand that has not arrived whole.
 *
 * @param lineOf of its shop; a line that nobody is in is forgotten
 * @returns to be called once its answer is known; whether it is in hand
 */
function watchArrival(lineOf: () => Line, req: IncomingMessage): () => boolean {
  const request: Arriving = { req, sinceMs: performance.now(), isInHand: true };
  const { arriving } = lineOf();
  arriving.add(request);
  const hasArrived = () => {
    arriving.delete(request);
    if (request.isInHand) return;
    request.isInHand = true;
    lineOf().inHand += 1;
  };
  req.once('end', hasArrived);
  return () => {
    req.off('end', hasArrived);
    arriving.delete(request);
    return request.isInHand;
  };
}

/** Those that arrive since that moment or longer are in hand no more. */
function leaveSlow(line: Line, sinceMsMax: number): void {
  for (const request of line.arriving) {
    if (request.sinceMs > sinceMsMax) return;
    line.arriving.delete(request);
    if (request.req.complete) continue;
    request.isInHand = false;
    line.inHand -= 1;
  }
}

function hasWaitingOrCalled({ waiting, called, calledBefore }: Line): boolean {
  return waiting.size + called.size + calledBefore.size > 0;
}

function callNext(line: Line, count: number): void {
  for (let left = Math.min(count, line.waiting.size); left > 0; left -= 1) call(line, firstOf(line));
}

/** Calls those that wait since that moment or longer. */
function callLate(line: Line, sinceMsMax: number): void {
  for (const [socket, sinceMs] of line.waiting) {
    if (sinceMs > sinceMsMax) return;
    call(line, socket);
    // An iterator that does not move keeps alive every table that its map has outgrown, with the sockets in it. While
    // there is no room, `callNext` never moves it, so it would do so for as long as the flood lasts.
    line.walk = line.waiting.keys();
  }
}

/** @throws where nobody waits */
function firstOf(line: Line): Socket {
  let first = line.walk.next();
  // An iterator that has come to the end stays there, though others may have been added since.
  if (first.done === true) first = (line.walk = line.waiting.keys()).next();
  if (first.done === true) throw new Error('nobody waits in this line');
  return first.value;
}

function call(line: Line, socket: Socket): void {
  line.waiting.delete(socket);
  if (socket.destroyed) return;
  line.called.add(socket);
  socket.resume();
}

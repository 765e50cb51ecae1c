import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { callerOf } from './request-state.js';
import type { AppMiddleware } from './request-state.js';

/**
 * Back-pressure by the socket: while a shop has enough writes in hand, a connection that has had its answer is not read
 * until its turn comes. What a client sends meanwhile waits in the kernel, where it costs neither memory nor a turn of
 * the event loop, and the connections of a shop are read in the order in which they came back.
 *
 * Without it each of 2,400 connections was either held, parsed and copied by every garbage collection, or refused, which
 * costs half of what accepting does and brings it straight back: 0.16 of HOT's peak got through, and 0.38 of SPREAD's.
 * The bounds of admission still hold for whoever opens new connections.
 */
export interface ConnectionTurns {
  take: AppMiddleware;
  /** Reads all connections, now and from now on. */
  close: () => void;
}

export interface ConnectionTurnsDeps {
  /** How many more writes of a shop this process wants in hand now; below 1: none. */
  room: (shopId: number) => number;
  /** An idle connection is closed after so long, and one that waits for its turn is idle to Node. */
  keepAliveMs: number;
}

/** Nobody waits longer for a turn: admission then says whether there is room. */
export const turnMsMax = 1_000;

/** What is free is given away with each answer, and looked for so often besides: a connection may have nothing to ask. */
const lookEveryMs = 5;

/** Waiting connections, the first come first, and since when they wait. */
type Line = Map<Socket, number>;

export function createConnectionTurns({ room, keepAliveMs }: ConnectionTurnsDeps): ConnectionTurns {
  const waitMsMax = Math.min(turnMsMax, keepAliveMs / 2);
  const lines = new Map<number, Line>();
  let looking: NodeJS.Timeout | undefined;
  let isClosed = false;

  function answered(shopId: number, socket: Socket): void {
    const line = lines.get(shopId);
    const isFull = room(shopId) < 1;
    if (isClosed || socket.destroyed || (line === undefined && !isFull)) return;
    socket.pause();
    if (line === undefined) lines.set(shopId, new Map([[socket, performance.now()]]));
    else line.set(socket, performance.now());
    looking ??= setInterval(look, lookEveryMs);
    // One for one: those that were let go in this turn are not in hand yet.
    if (!isFull && line !== undefined) letGo(line, 1);
  }

  function look(): void {
    const lateMs = performance.now() - waitMsMax;
    for (const [shopId, line] of lines) {
      letGo(line, room(shopId));
      for (const [socket, sinceMs] of line) {
        if (sinceMs > lateMs) break;
        resume(line, socket);
      }
      if (line.size === 0) lines.delete(shopId);
    }
    if (lines.size > 0) return;
    clearInterval(looking);
    looking = undefined;
  }

  return {
    async take(ctx, next) {
      // A proxy's connection carries the requests of many; here only those of one would have to wait.
      if (ctx.method === 'PATCH' && !isForwarded(ctx.req)) {
        const { shop } = callerOf(ctx);
        const { socket } = ctx.req;
        ctx.res.once('finish', () => {
          answered(shop.id, socket);
        });
      }
      await next();
    },
    close() {
      isClosed = true;
      clearInterval(looking);
      for (const line of lines.values()) letGo(line, line.size);
      lines.clear();
    },
  };
}

function letGo(line: Line, count: number): void {
  let left = count;
  for (const socket of line.keys()) {
    if (left <= 0) return;
    left -= 1;
    resume(line, socket);
  }
}

function resume(line: Line, socket: Socket): void {
  line.delete(socket);
  if (!socket.destroyed) socket.resume();
}

function isForwarded({ headers }: IncomingMessage): boolean {
  return headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined || headers.via !== undefined;
}

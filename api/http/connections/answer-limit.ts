import type { Socket } from 'node:net';

/**
 * For one connection. At a hundred it is no longer read (`read-ahead.ts`), but Node hands over every request that it
 * has read by then: up to 64 KiB, which is 430 of the shortest with a key, and 2,500 without one.
 */
const connectionMax = 600;

/** For all connections together: 90 MB, at 9 KB an answer. Each connection may have one, whatever the others have. */
const processMax = 10_000;

/** Bounds how many answers are open at once: each takes memory, though its client may have no key and read nothing. */
export interface AnswerLimit {
  /**
   * Whether another may be open on a connection. If not, the connection is cut off: a client that sends ahead can
   * repeat what has no answer (RFC 9112 §9.3.2), and gives way to those that wait for theirs.
   */
  admitOrCutOff(socket: Pick<Socket, 'destroyed' | 'destroy'>, openThere: number): boolean;
  opened(): void;
  closed(count: number): void;
}

/**
 * Without it, a hundred connections that each sent 1,300 requests for a public file in one packet and read nothing took
 * a process from 136 MB to 1.3 GB, and for 13 seconds it heard nobody.
 */
export function createAnswerLimit(): AnswerLimit {
  let openOfAll = 0;
  return {
    admitOrCutOff(socket, openThere) {
      if (socket.destroyed) return false;
      if (openThere === 0 || (openThere < connectionMax && openOfAll < processMax)) return true;
      socket.destroy();
      return false;
    },
    opened: () => {
      openOfAll += 1;
    },
    closed: (count) => {
      openOfAll -= count;
    },
  };
}

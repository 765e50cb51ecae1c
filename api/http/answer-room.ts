import type { Socket } from 'node:net';

/**
 * Of a connection. From a hundred on it is not read any more (`read-ahead.ts`), but what Node has read by then it hands over
 * to the last request: 64 KiB, in which 430 of the shortest with a key have room, and 2,500 without one.
 */
const connectionMax = 600;

/** Of all connections, 9 KB each; each may have one whatever the others have. */
const processMax = 10_000;

/** Bounds how many answers are open at once: each is memory, also of requests that show no key and read no answer. */
export interface AnswerRoom {
  /**
   * Whether another may be open on a connection. If not the connection is cut off: who sends ahead may send again what has
   * no answer (RFC 9112 §9.3.2), and gives way to those who wait for theirs.
   */
  admitOrCutOff(socket: Pick<Socket, 'destroyed' | 'destroy'>, openThere: number): boolean;
  opened(): void;
  closed(count: number): void;
}

/**
 * Without it a hundred connections that each sent 1,300 requests for a public file in one packet, and read nothing, took a
 * process from 136 MB to 1.3 GB, and 13 seconds in which it heard nobody.
 */
export function createAnswerRoom(): AnswerRoom {
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

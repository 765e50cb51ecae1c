import { connect } from 'node:net';
import type { Answer } from '../support/http/http.js';
import { afterOwnTime } from '../support/time/own-time.js';
import { createReader } from './wire.js';

/** All that came of some bytes on a connection of their own. */
export interface Conversation {
  answers: Answer[];
  /** What came behind the last whole answer, or in place of one. */
  rest: string;
  /** Whether the service ended the connection before the client did. */
  endedByService: boolean;
}

/** How long a client waits for a first answer, and for more behind one, before it ends its side. */
const firstMs = 250;
const moreMs = 15;
/** Above every time-out of the service: a connection that is open so long after its client's end hangs. */
const closedMsMax = 45_000;

/**
 * Writes the parts one after the other, each on its own, and records what comes until the connection is closed. If all
 * is quiet, the client ends its side, because a request that never becomes whole would wait for its time-out; this
 * decides only how long a case takes.
 *
 * @throws where what comes is no answer, or the connection stays open
 */
export function converse(port: number, parts: readonly Buffer[]): Promise<Conversation> {
  return new Promise((resolve, reject) => {
    const reader = createReader();
    const conversation: Conversation = { answers: [], rest: '', endedByService: false };
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    let quiet: NodeJS.Timeout | undefined;
    let hasEnded = false;
    const settle = (error?: Error) => {
      clearTimeout(quiet);
      takeBack();
      socket.destroy();
      conversation.rest = reader.rest();
      if (error) reject(error);
      else resolve(conversation);
    };
    const takeBack = afterOwnTime(closedMsMax, () => settle(new Error(`Not closed within ${closedMsMax} ms`)));
    const wait = (ms: number) => {
      clearTimeout(quiet);
      quiet = setTimeout(() => {
        hasEnded = true;
        socket.end();
      }, ms);
    };
    socket.on('data', (chunk) => {
      try {
        conversation.answers.push(...reader.read(chunk));
      } catch (error) {
        return settle(error as Error);
      }
      if (!hasEnded) wait(conversation.answers.length > 0 ? moreMs : firstMs);
    });
    socket.once('end', () => {
      conversation.endedByService = !hasEnded;
      socket.end();
    });
    // A reset is an end like any other.
    socket.on('error', () => {
      if (!hasEnded) conversation.endedByService = true;
    });
    socket.once('close', () => settle());
    socket.once('connect', () => {
      void writeApart(socket, parts).then(() => wait(firstMs));
    });
  });
}

/** Each part in a write of its own, a turn of the loop apart. */
async function writeApart(socket: ReturnType<typeof connect>, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) {
    if (!socket.writable) return;
    socket.write(part);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

import { openConnection } from './connection.js';
import type { Connection, Target } from './connection.js';
import type { PlannedRequest } from './plan-requests.js';
import type { Answer } from './read-answer.js';

/** A request that was sent. */
export interface Asked {
  request: PlannedRequest;
  /** When it should have been sent; in a closed loop when it was. */
  dueMs: number;
  sentMs: number;
}

/**
 * What became of it: `lost` once it was written and no answer came, so that nobody knows whether it was done; `unsent`
 * where no connection came about, so that it certainly was not.
 */
export type Outcome = Answer | 'lost' | 'unsent';

/** One client: a connection that is opened anew after it broke, with one request in flight at most. */
export interface Lane {
  /** Opens its connection ahead of the first request. @throws where none comes about */
  open(): Promise<void>;
  send(request: PlannedRequest, dueMs: number): void;
  /** Since when its request is on the way; undefined while none is. */
  busySinceMs(): number | undefined;
  /** Takes its request for lost, and its connection down. */
  giveUp(): void;
  close(): void;
}

/** Between attempts to connect, so that a service that is away is not stormed. */
const reconnectPauseMs = 100;

/** @param onOutcome called once for each request, when the lane is free again */
export function createLane(target: Target, onOutcome: (lane: Lane, asked: Asked, outcome: Outcome) => void): Lane {
  let connection: Connection | undefined;
  let asked: Asked | undefined;
  let isClosed = false;

  /** What comes of a request that was given up already is no news of the one after it. */
  function end(one: Asked | undefined, outcome: Outcome): void {
    if (one === undefined || one !== asked) return;
    asked = undefined;
    if (!isClosed) onOutcome(lane, one, outcome);
  }

  function drop(): void {
    connection?.close();
    connection = undefined;
  }

  async function connect(): Promise<Connection> {
    const opened = await openConnection({
      target,
      onAnswer: (answer) => {
        if (answer.isLast) drop();
        end(asked, answer);
      },
      onBroken: () => {
        if (connection !== opened) return;
        connection = undefined;
        end(asked, 'lost');
      },
    });
    return opened;
  }

  const lane: Lane = {
    open: async () => {
      connection = await connect();
      if (isClosed) drop();
    },
    send(request, dueMs) {
      const one: Asked = { request, dueMs, sentMs: performance.now() };
      asked = one;
      if (connection !== undefined) return connection.send(request.message);
      connect().then(
        (opened) => {
          // It may have been given up meanwhile: then it must not go out any more, and the next one connects by itself.
          if (asked !== one || isClosed) return opened.close();
          connection = opened;
          opened.send(request.message);
        },
        () => setTimeout(() => end(one, 'unsent'), reconnectPauseMs),
      );
    },
    busySinceMs: () => asked?.sentMs,
    giveUp() {
      drop();
      end(asked, 'lost');
    },
    close() {
      isClosed = true;
      drop();
    },
  };
  return lane;
}

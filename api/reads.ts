import type { Database } from '../shared/database/connect.js';
import { fail, succeed } from '../shared/domain/errors.js';
import type { Result } from '../shared/domain/errors.js';
import { afterRunning } from './running-wait.js';

/**
 * What clients read goes over connections of its own, on which shops take turns. With one pool for all, slow lists of
 * one shop held it whole: no key could be looked up, the health took Postgres for away, and every write of every shop
 * was refused. A shop that leaves its answers untaken must wait as well: 64 of 12 MB each were 800 MiB.
 */
export interface Reads {
  /**
   * Asks a question for a shop when its turn comes; SERVICE_UNAVAILABLE if the turn does not come in time.
   *
   * @param question asks its statements one after the other, so that a turn is one connection
   */
  ask: <T>(shopId: number, question: (database: Database) => Promise<T>) => Promise<Result<T>>;
  /** Counts an answer of the shop that its client has not taken yet, until the returned function is called. */
  answering: (shopId: number, bytes: number) => () => void;
  /** How many wait for their turn. */
  waiting: () => number;
}

export interface ReadsDeps {
  /** A pool that nobody else uses. */
  database: Database;
  /** The connections of that pool. */
  connectionsMax: number;
  /** The longest wait for a turn. */
  waitMsMax?: number;
}

const waitMsMaxDefault = 3_000;
/** Connections that one shop leaves to the others, however much it asks. */
const leftToOthers = 2;
/**
 * Untaken bytes from which a shop's reads wait; a page of a thousand materials is half a MiB, or up to 16 of text
 * alone.
 */
const untakenBytesMax = 16 * 1_024 * 1_024;

export function createReads({ database, connectionsMax, waitMsMax = waitMsMaxDefault }: ReadsDeps): Reads {
  const turns = createTurns(connectionsMax, waitMsMax);
  return {
    async ask(shopId, question) {
      const leave = await turns.take(shopId);
      if (leave === undefined) return tooManyReads;
      try {
        return succeed(await question(database));
      } finally {
        leave();
      }
    },
    answering: (shopId, bytes) => turns.answering(shopId, bytes),
    waiting: () => turns.waiting(),
  };
}

const tooManyReads = fail('SERVICE_UNAVAILABLE', 'Too many reads are under way at the moment.', {
  retryAfterSeconds: 1,
});

interface Turns {
  /** Resolves with what ends the turn, or with nothing where it did not come in time. */
  take: (shopId: number) => Promise<(() => void) | undefined>;
  answering: Reads['answering'];
  waiting: () => number;
}

interface Line {
  held: number;
  untakenBytes: number;
  /** Each is called when its turn comes, the first come first. */
  waiting: Set<() => void>;
}

function createTurns(connectionsMax: number, waitMsMax: number): Turns {
  const shopMax = Math.max(1, connectionsMax - leftToOthers);
  /** Of shops that hold anything or wait, in the order of their turns. */
  const lines = new Map<number, Line>();
  let held = 0;

  const hasTurn = (line: Line) => held < connectionsMax && line.held < shopMax && line.untakenBytes < untakenBytesMax;

  function lineOf(shopId: number): Line {
    const line = lines.get(shopId) ?? { held: 0, untakenBytes: 0, waiting: new Set() };
    lines.set(shopId, line);
    return line;
  }

  /** Moves the shop behind the others: the next turn is another's. */
  function begin(shopId: number, line: Line): void {
    held += 1;
    line.held += 1;
    lines.delete(shopId);
    lines.set(shopId, line);
  }

  function callNext(shopId: number, line: Line): void {
    if (line.held === 0 && line.untakenBytes === 0 && line.waiting.size === 0) lines.delete(shopId);
    // A line that is called moves to the end of this very map, so the loop meets it again.
    for (const [calledId, called] of lines) {
      const [tell] = called.waiting;
      if (tell === undefined || !hasTurn(called)) continue;
      called.waiting.delete(tell);
      begin(calledId, called);
      tell();
    }
  }

  /** Resolves with whether the turn came. */
  function wait(shopId: number, line: Line): Promise<boolean> {
    return new Promise((resolve) => {
      const tell = () => {
        stop();
        resolve(true);
      };
      const stop = afterRunning(waitMsMax, () => {
        line.waiting.delete(tell);
        callNext(shopId, line);
        resolve(false);
      });
      line.waiting.add(tell);
    });
  }

  return {
    async take(shopId) {
      const line = lineOf(shopId);
      if (hasTurn(line)) begin(shopId, line);
      else if (!(await wait(shopId, line))) return undefined;
      return () => {
        held -= 1;
        line.held -= 1;
        callNext(shopId, line);
      };
    },
    answering(shopId, bytes) {
      const line = lineOf(shopId);
      line.untakenBytes += bytes;
      return () => {
        line.untakenBytes -= bytes;
        callNext(shopId, line);
      };
    },
    waiting: () => [...lines.values()].reduce((count, { waiting }) => count + waiting.size, 0),
  };
}

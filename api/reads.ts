import type { Database } from '../shared/database/connect.js';
import { succeed, unavailable } from '../shared/domain/errors.js';
import type { Result } from '../shared/domain/errors.js';
import { afterRunning } from '../shared/runtime/running-wait.js';

/**
 * What clients read goes over Postgres connections of its own, on which shops take turns. With one pool for everything,
 * slow lists of one shop held all of it: no key could be looked up, Postgres counted as away, and every write of every
 * shop was refused. A shop whose clients do not read their answers must wait as well: 64 answers of 12 MB each were 800
 * MiB.
 */
export interface Reads {
  /**
   * Asks Postgres a question for a shop when its turn comes; SERVICE_UNAVAILABLE if the turn does not come in time.
   *
   * @param question must run its statements one after the other: a turn is one connection
   * @throws what the question throws
   */
  ask: <T>(shopId: number, question: (database: Database) => Promise<T>) => Promise<Result<T>>;
  /**
   * As `ask`, one at a time in the whole process, over a connection that is kept for this: for what takes much memory.
   * Of five pages of 13 MB each that were made beside each other, an API process had 434 MiB, and of one after the other
   * 284.
   */
  askAlone: Reads['ask'];
  /** Counts the bytes of an answer that the shop's client has not read yet, until the returned function is called. */
  addUnread: (shopId: number, bytes: number) => () => void;
  /** How many wait for their turn, for whichever reason. */
  waiting: () => number;
  /** How many of these wait while no connection is free that they might have. */
  waitingForConnection: () => number;
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
/** Connections for what is asked alone. A pool of one or two has none to keep: there it has a usual turn as well. */
const keptForAlone = 1;
/** At so many unread bytes a shop's reads wait. A page of a thousand materials is usually half a MiB, at most 16. */
const unreadBytesMax = 16 * 1_024 * 1_024;

export function createReads({ database, connectionsMax, waitMsMax = waitMsMaxDefault }: ReadsDeps): Reads {
  const shopMax = Math.max(1, connectionsMax - leftToOthers);
  const isKept = connectionsMax > keptForAlone + 1;
  const usualMax = isKept ? connectionsMax - keptForAlone : connectionsMax;
  const usual = createTurns({ turnsMax: usualMax, shopMax, waitMsMax });
  const alone = createTurns({ turnsMax: keptForAlone, shopMax: keptForAlone, waitMsMax });

  const askIn =
    ({ take }: Turns): Reads['ask'] =>
    async (shopId, question) => {
      const leave = await take(shopId);
      if (leave === undefined) return tooManyReads;
      try {
        return succeed(await question(database));
      } finally {
        leave();
      }
    };
  const ask = askIn(usual);
  const askAlone = askIn(alone);
  return {
    ask,
    // Where it can, without a usual turn besides: while it waited for one of its shop, no other page was made.
    askAlone: isKept
      ? askAlone
      : async (shopId, question) => {
          const turn = await askAlone(shopId, () => ask(shopId, question));
          return turn.ok ? turn.data : turn;
        },
    addUnread(shopId, bytes) {
      const removals = [usual, alone].map(({ addUnread }) => addUnread(shopId, bytes));
      return () => {
        for (const remove of removals) remove();
      };
    },
    waiting: () => usual.waiting() + alone.waiting(),
    waitingForConnection: () => (usual.isFull() ? usual.waiting() : 0),
  };
}

const tooManyReads = unavailable(
  'This read had to wait for too long: too many are under way, or earlier answers are not read to their end.',
);

interface Turns extends Pick<Reads, 'addUnread' | 'waiting'> {
  /** Resolves with the function that ends the turn, or with undefined if the turn did not come in time. */
  take: (shopId: number) => Promise<(() => void) | undefined>;
  isFull: () => boolean;
}

interface TurnsDeps {
  /** How many there are at once. */
  turnsMax: number;
  /** How many of them one shop may have. */
  shopMax: number;
  waitMsMax: number;
}

/** What one shop holds, and who waits for it. */
interface Line {
  /** Turns. */
  held: number;
  unreadBytes: number;
  /** Each is called when its turn comes, in the order of arrival. */
  waiting: Set<() => void>;
}

function createTurns({ turnsMax, shopMax, waitMsMax }: TurnsDeps): Turns {
  /** Of the shops that hold anything or wait, in the order of their turns. */
  const lines = new Map<number, Line>();
  let held = 0;

  const hasTurn = (line: Line) => held < turnsMax && line.held < shopMax && line.unreadBytes < unreadBytesMax;

  function lineOf(shopId: number): Line {
    const line = lines.get(shopId) ?? { held: 0, unreadBytes: 0, waiting: new Set() };
    lines.set(shopId, line);
    return line;
  }

  /** The next turn is another's. */
  function moveToEnd(shopId: number, line: Line): void {
    lines.delete(shopId);
    lines.set(shopId, line);
  }

  function begin(shopId: number, line: Line): void {
    held += 1;
    line.held += 1;
    moveToEnd(shopId, line);
  }

  /**
   * For a shop that holds less, or waits no more: forgets it if nothing is left, and gives away the turns that are
   * free.
   */
  function freed(shopId: number, line: Line): void {
    if (line.held === 0 && line.unreadBytes === 0 && line.waiting.size === 0) lines.delete(shopId);
    // `begin` moves a line to the end of this map, so the loop comes to it again, as long as it has turns.
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
        freed(shopId, line);
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
        // Those who came since it began stand behind it, and have waited.
        moveToEnd(shopId, line);
        freed(shopId, line);
      };
    },
    addUnread(shopId, bytes) {
      const line = lineOf(shopId);
      line.unreadBytes += bytes;
      return () => {
        line.unreadBytes -= bytes;
        freed(shopId, line);
      };
    },
    waiting: () => [...lines.values()].reduce((count, { waiting }) => count + waiting.size, 0),
    isFull: () => held >= turnsMax,
  };
}

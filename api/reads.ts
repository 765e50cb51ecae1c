import type { Database } from '../shared/database/connect.js';
import { fail, succeed } from '../shared/domain/errors.js';
import type { Result } from '../shared/domain/errors.js';

/**
 * What clients read goes over connections of its own, on which shops take turns. Ten slow searches of one shop held all
 * connections of the process before: no key could be looked up, the health took Postgres for away, and every write of
 * every shop was refused.
 */
export interface Reads {
  /** Asks for a shop when its turn comes; SERVICE_UNAVAILABLE where it does not come in time. One question at a time holds one connection. */
  ask: <T>(shopId: number, question: (database: Database) => Promise<T>) => Promise<Result<T>>;
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

interface Line {
  held: number;
  /** Each is told its turn, the first come first. */
  waiting: Set<() => void>;
}

export function createReads({ database, connectionsMax, waitMsMax = waitMsMaxDefault }: ReadsDeps): Reads {
  const shopMax = Math.max(1, connectionsMax - leftToOthers);
  /** Of shops that hold or wait, in the order of their turns. */
  const lines = new Map<number, Line>();
  let held = 0;

  function take(shopId: number, line: Line): void {
    held += 1;
    line.held += 1;
    // The next turn is another shop's.
    lines.delete(shopId);
    lines.set(shopId, line);
  }

  function leave(shopId: number, line: Line): void {
    held -= 1;
    line.held -= 1;
    forgetIdle(shopId, line);
    callNext();
  }

  function forgetIdle(shopId: number, { held: own, waiting }: Line): void {
    if (own === 0 && waiting.size === 0) lines.delete(shopId);
  }

  function callNext(): void {
    if (held >= connectionsMax) return;
    for (const [shopId, line] of lines) {
      const [tell] = line.waiting;
      if (tell === undefined || line.held >= shopMax) continue;
      line.waiting.delete(tell);
      take(shopId, line);
      tell();
      return;
    }
  }

  /** Resolves with whether the turn came. */
  function turn(shopId: number, line: Line): Promise<boolean> {
    return new Promise((resolve) => {
      const tell = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        line.waiting.delete(tell);
        forgetIdle(shopId, line);
        resolve(false);
      }, waitMsMax);
      line.waiting.add(tell);
    });
  }

  return {
    async ask(shopId, question) {
      const line = lines.get(shopId) ?? { held: 0, waiting: new Set() };
      if (held < connectionsMax && line.held < shopMax) take(shopId, line);
      else {
        lines.set(shopId, line);
        if (!(await turn(shopId, line))) return tooManyReads;
      }
      try {
        return succeed(await question(database));
      } finally {
        leave(shopId, line);
      }
    },
    waiting: () => [...lines.values()].reduce((count, { waiting }) => count + waiting.size, 0),
  };
}

const tooManyReads = fail('SERVICE_UNAVAILABLE', 'Too many reads are under way at the moment.', {
  retryAfterSeconds: 1,
});

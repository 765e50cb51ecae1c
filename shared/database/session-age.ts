import type { RawConnection } from './raw-connection.js';

/** Decides which sessions of a pool have become too old. */
export interface SessionAge {
  opened: (session: RawConnection) => void;
  isOver: (session: RawConnection) => Promise<boolean>;
}

/**
 * A session is replaced once it is this old. After a fail-over by the address alone, the sessions that lead to the old
 * server go on, and what is read there is out of date; nothing but their age tells.
 */
const sessionMsMax = 60_000;
/** So that they are not all replaced at once. */
const sessionMsSpread = 30_000;
/** Between two sessions that are given up. */
const pauseMs = 1_000;

/**
 * The pool closes an old session before it opens the next, and first goes on to its other free ones: one request could
 * close them all. While others have taken all connections of Postgres there would be no next one, and where a login
 * takes long, the request would pay for one after the other. So one is given up at a time, and none while Postgres has
 * no connection left: then its time begins anew.
 *
 * @param isServerFull whether the server at our address has no connection left; never rejects
 */
export function createSessionAge(isServerFull: () => Promise<boolean>): SessionAge {
  const endsAtMs = new WeakMap<RawConnection, number>();
  let nextMs = -Infinity;
  const begin = (session: RawConnection) => {
    endsAtMs.set(session, performance.now() + sessionMsMax + Math.random() * sessionMsSpread);
  };
  return {
    opened: begin,
    async isOver(session) {
      const nowMs = performance.now();
      if (nowMs <= (endsAtMs.get(session) ?? Infinity) || nowMs < nextMs) return false;
      // Nobody else asks meanwhile, and the pause begins only then: to ask takes as long as a log-in.
      nextMs = Infinity;
      const isFull = await isServerFull();
      nextMs = performance.now() + pauseMs;
      if (!isFull) return true;
      begin(session);
      return false;
    },
  };
}

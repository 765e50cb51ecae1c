import { codeOf, noSlotState } from './errors.js';
import type { RawConnection } from './raw-connection.js';

/** Decides which sessions of a pool have become too old. */
export interface SessionAge {
  opened: (session: RawConnection) => void;
  /** The pool could not open a session. */
  failed: (error: unknown) => void;
  isOver: (session: RawConnection) => boolean;
}

/**
 * A session is replaced once it is this old. After a fail-over by the address alone, the sessions that lead to the old
 * server go on, and what is read there is out of date; nothing but their age tells.
 */
const sessionMsMax = 60_000;
/** So that they are not all replaced at once. */
const sessionMsSpread = 30_000;
/** So long after the last that was refused, the pool may try again what it does not need: it may cost a session. */
const refusalMs = 600_000;

/**
 * The pool closes a session before it opens the next. While others have taken all connections of Postgres there would
 * be no next one, so once one was refused, sessions are kept, however old, until one is opened again.
 */
export function createSessionAge(): SessionAge {
  const endsAtMs = new WeakMap<RawConnection, number>();
  let refusedAtMs = -Infinity;
  return {
    opened(session) {
      refusedAtMs = -Infinity;
      endsAtMs.set(session, performance.now() + sessionMsMax + Math.random() * sessionMsSpread);
    },
    failed(error) {
      if (codeOf(error) === noSlotState) refusedAtMs = performance.now();
    },
    isOver(session) {
      const nowMs = performance.now();
      return nowMs > (endsAtMs.get(session) ?? Infinity) && nowMs > refusedAtMs + refusalMs;
    },
  };
}

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { findKeyWithShop, touchKey } from '../../shared/database/api-keys.js';
import type { KeyWithShop } from '../../shared/database/api-keys.js';
import type { Database } from '../../shared/database/connect.js';
import { isTransient, reasonWithoutStatement } from '../../shared/database/errors.js';
import type { KeyIdentity } from '../../shared/keys/api-key-format.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { logRecurring } from '../../shared/runtime/recurring-fault.js';
import type { RecurringFault } from '../../shared/runtime/recurring-fault.js';
import { startRunningWait } from '../../shared/runtime/running-wait.js';
import { startStopwatch } from '../../shared/runtime/stopwatch.js';

/** The keys that this process has met. */
export interface KeyRing {
  /** Whether this very key, secret included, was good when this process last looked it up. */
  wasGood(identity: KeyIdentity): boolean;
  /**
   * The key with its shop; `refused` if it is unknown, expired, revoked or has another secret; `unavailable` if
   * Postgres does not answer in time.
   */
  find(identity: KeyIdentity): Promise<KeyWithShop | 'refused' | 'unavailable'>;
}

export interface KeyRingDeps {
  database: Database;
  logger: Logger;
  /** Milliseconds since the epoch: a key expires by it. */
  nowMs?: () => number;
  /** Begins to measure how long ago a key was looked up. */
  measure?: () => () => number;
  lookUp?: typeof findKeyWithShop;
  touch?: typeof touchKey;
}

/** A revocation takes effect within a second (contract §5), counted from when the look-up was begun. */
const freshMs = 1_000;
/** Below `freshMs`: an answer in time is still fresh, and that Postgres is away is noticed within a second. */
export const lookUpMsMax = 900;
const touchEveryMs = 60_000;
const keysMax = 10_000;

interface Entry {
  /**
   * How many ms ago the last look-up began; each has a function of its own. Absent before the first, and after a
   * failure.
   */
  sinceAskedMs: (() => number) | undefined;
  /** The look-up under way, shared by all requests that come meanwhile. */
  asking: Promise<KeyWithShop | undefined> | undefined;
  key: KeyWithShop | undefined;
  touchedAtMs: number;
  wasGood: boolean;
}

/** What the parts of a ring share. */
interface Ring extends Required<KeyRingDeps> {
  entries: LRUCache<string, Entry>;
  /** Told how each look-up went. */
  lookUps: RecurringFault;
}

export function createKeyRing({
  database,
  logger,
  nowMs = Date.now,
  measure = startStopwatch,
  lookUp = findKeyWithShop,
  touch = touchKey,
}: KeyRingDeps): KeyRing {
  const entries = new LRUCache<string, Entry>({ max: keysMax });
  const lookUps = logRecurring(logger, 'No key can be looked up.', reasonWithoutStatement);
  const ring: Ring = { database, logger, nowMs, measure, lookUp, touch, entries, lookUps };
  return {
    wasGood(identity) {
      const entry = entries.peek(identity.id);
      return entry?.wasGood === true && entry.key !== undefined && isSecretOf(entry.key, identity);
    },
    async find(identity) {
      const entry = entries.get(identity.id) ?? newEntry();
      const isStale = !isFresh(entry.sinceAskedMs);
      // A guess under a known id costs the same look-up as one under an unknown id, so its time tells nothing.
      const isGuess = entry.key !== undefined && !isSecretOf(entry.key, identity);
      if (isStale || (isGuess && entry.asking === undefined)) ask(ring, identity.id, entry);
      try {
        const key = await answerOf(ring, identity.id, entry);
        if (key === 'late') {
          lookUps.failed(late);
          return 'unavailable';
        }
        if (!isSecretOf(key ?? unknownKey, identity) || key === undefined) return 'refused';
        entry.wasGood = isUsable(key, nowMs());
        if (!entry.wasGood) return 'refused';
        noteUse(ring, entry, key);
        return key;
      } catch (error) {
        if (!isTransient(error)) throw error;
        lookUps.failed(error);
        return 'unavailable';
      }
    },
  };
}

function isFresh(sinceAskedMs: Entry['sinceAskedMs']): boolean {
  return sinceAskedMs !== undefined && sinceAskedMs() < freshMs;
}

const late = new Error(`Postgres has not answered within ${lookUpMsMax} ms`);

function newEntry(): Entry {
  return { sinceAskedMs: undefined, asking: undefined, key: undefined, touchedAtMs: -Infinity, wasGood: false };
}

/**
 * What Postgres says of the key, by a look-up that began at most `freshMs` ago. A request that joins an older one, or
 * waits while this process is busy, might get an answer from before a revocation: then Postgres is asked once more,
 * within the same wait.
 */
async function answerOf(ring: Ring, id: string, entry: Entry): Promise<KeyWithShop | undefined | 'late'> {
  const { asking, sinceAskedMs } = entry;
  if (asking === undefined) return entry.key;
  const wait = startRunningWait(lookUpMsMax);
  try {
    const key = await wait.within(asking, 'late' as const);
    if (key === 'late' || isFresh(sinceAskedMs)) return key;
    if (entry.sinceAskedMs === sinceAskedMs) ask(ring, id, entry);
    return entry.asking === undefined ? entry.key : await wait.within(entry.asking, 'late' as const);
  } finally {
    wait.stop();
  }
}

/** An unknown id is not kept: a key that was just issued must work at once, and guesses must not push out good keys. */
function ask({ database, entries, lookUps, lookUp, measure }: Ring, id: string, entry: Entry): void {
  entry.sinceAskedMs = measure();
  entries.set(id, entry);
  const asking = lookUp(database, id);
  entry.asking = asking;
  asking.then(
    (key) => {
      lookUps.passed();
      if (entry.asking !== asking) return;
      entry.asking = undefined;
      entry.key = key;
      if (key === undefined) entries.delete(id);
    },
    () => {
      // Whoever waits for it hears of the failure; the next one asks again.
      if (entry.asking !== asking) return;
      entry.asking = undefined;
      entry.sinceAskedMs = undefined;
    },
  );
}

/**
 * Stands for a key that does not exist, so that comparing takes as long. No secret has this hash, as far as we know.
 */
const unknownKey = { secretHash: randomBytes(32) };

function isSecretOf(key: Pick<KeyWithShop, 'secretHash'>, { secretHash }: KeyIdentity): boolean {
  return timingSafeEqual(key.secretHash, secretHash);
}

function isUsable({ revokedAt, expiresAt }: KeyWithShop, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > now);
}

/** Writes when the key was used, at most once a minute (contract §5). The request does not wait for it. */
function noteUse({ database, logger, touch, nowMs }: Ring, entry: Entry, key: KeyWithShop): void {
  const now = nowMs();
  const notedMs = key.lastUsedAt?.getTime() ?? -Infinity;
  // A use far ahead was noted by a clock that was wrong, perhaps our own, and says nothing. One that is a little ahead
  // was noted by a process whose clock is.
  const isWithinTheMinute = (atMs: number) => Math.abs(now - atMs) < touchEveryMs;
  if (isWithinTheMinute(entry.touchedAtMs) || isWithinTheMinute(notedMs)) return;
  entry.touchedAtMs = now;
  touch(database, key.id, new Date(now)).catch((error: unknown) =>
    logger.warn({ err: error, keyId: key.id }, 'The use of a key could not be noted.'),
  );
}

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { findKeyWithShop, touchKey } from '../../shared/database/api-keys.js';
import type { KeyWithShop } from '../../shared/database/api-keys.js';
import type { Database } from '../../shared/database/connect.js';
import { isInfrastructureError, reasonWithoutStatement } from '../../shared/database/errors.js';
import type { KeyIdentity } from '../../shared/keys/api-key-format.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { logRecurring } from '../../shared/runtime/recurring-fault.js';
import type { RecurringFault } from '../../shared/runtime/recurring-fault.js';
import { startRunningWait } from '../../shared/runtime/running-wait.js';

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
  /** Milliseconds since the epoch. */
  nowMs?: () => number;
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
  askedAtMs: number;
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
  lookUp = findKeyWithShop,
  touch = touchKey,
}: KeyRingDeps): KeyRing {
  const entries = new LRUCache<string, Entry>({ max: keysMax });
  const lookUps = logRecurring(logger, 'No key can be looked up.', reasonWithoutStatement);
  const ring: Ring = { database, logger, nowMs, lookUp, touch, entries, lookUps };
  return {
    wasGood(identity) {
      const entry = entries.peek(identity.id);
      return entry?.wasGood === true && entry.key !== undefined && isSecretOf(entry.key, identity);
    },
    async find(identity) {
      const now = nowMs();
      const entry = entries.get(identity.id) ?? newEntry();
      const isStale = now - entry.askedAtMs >= freshMs || now < entry.askedAtMs;
      // A guess under a known id costs the same look-up as one under an unknown id, so its time tells nothing.
      const isGuess = entry.key !== undefined && !isSecretOf(entry.key, identity);
      if (isStale || (isGuess && entry.asking === undefined)) ask(ring, identity.id, entry, now);
      try {
        const key = await answerOf(ring, identity.id, entry);
        if (key === 'late') {
          lookUps.failed(late);
          return 'unavailable';
        }
        if (!isSecretOf(key ?? unknownKey, identity) || key === undefined) return 'refused';
        entry.wasGood = isUsable(key, nowMs());
        if (!entry.wasGood) return 'refused';
        noteUse(ring, entry, key, now);
        return key;
      } catch (error) {
        if (!isInfrastructureError(error)) throw error;
        lookUps.failed(error);
        return 'unavailable';
      }
    },
  };
}

const late = new Error(`Postgres has not answered within ${lookUpMsMax} ms`);

function newEntry(): Entry {
  return { askedAtMs: -Infinity, asking: undefined, key: undefined, touchedAtMs: -Infinity, wasGood: false };
}

/**
 * What Postgres says of the key, by a look-up that began at most `freshMs` ago. A request that joins an older one, or
 * waits while this process is busy, might get an answer from before a revocation: then Postgres is asked once more,
 * within the same wait.
 */
async function answerOf(ring: Ring, id: string, entry: Entry): Promise<KeyWithShop | undefined | 'late'> {
  const { asking, askedAtMs } = entry;
  if (asking === undefined) return entry.key;
  const wait = startRunningWait(lookUpMsMax);
  try {
    const key = await wait.within(asking, 'late' as const);
    const at = ring.nowMs();
    if (key === 'late' || at - askedAtMs < freshMs) return key;
    if (entry.askedAtMs === askedAtMs) ask(ring, id, entry, at);
    return entry.asking === undefined ? entry.key : await wait.within(entry.asking, 'late' as const);
  } finally {
    wait.stop();
  }
}

/** An unknown id is not kept: a key that was just issued must work at once, and guesses must not push out good keys. */
function ask({ database, entries, lookUps, lookUp }: Ring, id: string, entry: Entry, now: number): void {
  entry.askedAtMs = now;
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
      entry.askedAtMs = -Infinity;
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
function noteUse({ database, logger, touch }: Ring, entry: Entry, key: KeyWithShop, now: number): void {
  const lastMs = Math.max(entry.touchedAtMs, key.lastUsedAt?.getTime() ?? -Infinity);
  if (now - lastMs < touchEveryMs) return;
  entry.touchedAtMs = now;
  touch(database, key.id, new Date(now)).catch((error: unknown) =>
    logger.warn({ err: error, keyId: key.id }, 'The use of a key could not be noted.'),
  );
}

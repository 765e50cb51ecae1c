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
import { startRunningWait } from '../running-wait.js';

/** The keys that this process has met. */
export interface KeyRing {
  /** Whether this very key was good when this process last looked. */
  wasGood(identity: KeyIdentity): boolean;
  /**
   * The key with its shop; `refused` when unknown, expired, revoked or with another secret; `unavailable` without
   * Postgres.
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
/** Below `freshMs`, so that an answer in time is still fresh, and Postgres being away shows within a second. */
export const lookUpMsMax = 900;
const touchEveryMs = 60_000;
const keysMax = 10_000;

interface Entry {
  askedAtMs: number;
  /** The look-up under way, shared by all who ask meanwhile. */
  asking: Promise<KeyWithShop | undefined> | undefined;
  key: KeyWithShop | undefined;
  touchedAtMs: number;
  wasGood: boolean;
}

/** What the parts of a ring share. */
interface Ring extends KeyRingDeps {
  entries: LRUCache<string, Entry>;
  lookUps: RecurringFault;
}

export function createKeyRing(deps: KeyRingDeps): KeyRing {
  const { nowMs = Date.now, logger } = deps;
  const entries = new LRUCache<string, Entry>({ max: keysMax });
  const lookUps = logRecurring(logger, 'No key can be looked up.', reasonWithoutStatement);
  const ring: Ring = { ...deps, entries, lookUps };
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
        if (!isSecretOf(key ?? nobodys, identity) || key === undefined) return 'refused';
        entry.wasGood = isUsable(key, nowMs());
        if (!entry.wasGood) return 'refused';
        noteUse(deps, entry, key, now);
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
 * What Postgres says of the key, asked at most `freshMs` before it is used. Whoever joins a look-up that began long
 * ago, or waits while this process is busy, may get an answer from before a revocation: then Postgres is asked once
 * more, within the same wait.
 */
async function answerOf(ring: Ring, id: string, entry: Entry): Promise<KeyWithShop | undefined | 'late'> {
  const { nowMs = Date.now } = ring;
  const { asking, askedAtMs } = entry;
  if (asking === undefined) return entry.key;
  const wait = startRunningWait(lookUpMsMax);
  try {
    const key = await wait.within(asking, 'late' as const);
    const at = nowMs();
    if (key === 'late' || at - askedAtMs < freshMs) return key;
    if (entry.askedAtMs === askedAtMs) ask(ring, id, entry, at);
    return entry.asking === undefined ? entry.key : await wait.within(entry.asking, 'late' as const);
  } finally {
    wait.stop();
  }
}

/** An unknown id is not kept: a key that was just issued must work at once, and guesses must not push out good keys. */
function ask(
  { database, entries, lookUps, lookUp = findKeyWithShop }: Ring,
  id: string,
  entry: Entry,
  now: number,
): void {
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

/** Compared with the secret that is shown under an unknown id: nobody knows a secret with this sum. */
const nobodys = { secretHash: randomBytes(32) };

function isSecretOf(key: Pick<KeyWithShop, 'secretHash'>, { secretHash }: KeyIdentity): boolean {
  return timingSafeEqual(key.secretHash, secretHash);
}

function isUsable({ revokedAt, expiresAt }: KeyWithShop, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > now);
}

/** Beside the request, whose answer does not wait for it (contract §5: written at most once a minute). */
function noteUse(
  { database, logger, touch = touchKey }: KeyRingDeps,
  entry: Entry,
  key: KeyWithShop,
  now: number,
): void {
  const lastMs = Math.max(entry.touchedAtMs, key.lastUsedAt?.getTime() ?? -Infinity);
  if (now - lastMs < touchEveryMs) return;
  entry.touchedAtMs = now;
  touch(database, key.id, new Date(now)).catch((error: unknown) =>
    logger.warn({ err: error, keyId: key.id }, 'The use of a key could not be noted.'),
  );
}

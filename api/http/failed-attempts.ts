import { LRUCache } from 'lru-cache';

/** Counts failed authentications of an address (contract §5). */
export interface FailedAttempts {
  note(address: string): void;
  /** Whole seconds until the address may show new keys again; undefined while it may. */
  blockedForSeconds(address: string): number | undefined;
  /**
   * Takes a place for the look-up of a key that may be bad; undefined if the look-ups under way could use up all the
   * failures that the address may still have. Call the returned function when the look-up ends, after noting its
   * failure.
   */
  begin(address: string): (() => void) | undefined;
  /** Settles when asking again may help, because a look-up of the address has ended; at once if it has none. */
  untilSomeEnd(address: string): Promise<void>;
}

const failuresMax = 60;
const windowMs = 60_000;
/** Some megabytes at most; beyond that, the address that was asked about the longest ago is forgotten. */
const addressesMax = 20_000;

interface FailureWindow {
  failures: number;
  endsAtMs: number;
}

/** The look-ups of an address that are under way, and what tells those who wait for a place. */
interface UnderWay {
  count: number;
  someEnded: Promise<void>;
  tell: () => void;
}

/** @param nowMs a monotonic clock */
export function createFailedAttempts(nowMs: () => number = () => performance.now()): FailedAttempts {
  const windows = new LRUCache<string, FailureWindow>({ max: addressesMax });
  /** Holds no address without a look-up. */
  const lookUps = new Map<string, UnderWay>();

  /** The window under way, if the address has failed in it. */
  function windowOf(address: string, now: number): FailureWindow | undefined {
    const latest = windows.get(address);
    return latest !== undefined && latest.endsAtMs > now ? latest : undefined;
  }

  const failuresOf = (address: string) => windowOf(address, nowMs())?.failures ?? 0;

  function end(address: string, underWay: UnderWay): void {
    underWay.count -= 1;
    if (underWay.count === 0) lookUps.delete(address);
    const failures = failuresOf(address);
    // A look-up that ended in a failure frees no place. Thousands may wait for one, and none of them needs to wake.
    if (failures < failuresMax && failures + underWay.count >= failuresMax) return;
    underWay.tell();
    Object.assign(underWay, newEnd());
  }

  return {
    note(address) {
      const now = nowMs();
      const current = windowOf(address, now);
      if (current === undefined) windows.set(address, { failures: 1, endsAtMs: now + windowMs });
      else current.failures += 1;
    },
    blockedForSeconds(address) {
      const now = nowMs();
      const current = windowOf(address, now);
      if (current === undefined || current.failures < failuresMax) return undefined;
      return Math.ceil((current.endsAtMs - now) / 1_000);
    },
    begin(address) {
      const underWay = lookUps.get(address) ?? { count: 0, ...newEnd() };
      if (failuresOf(address) + underWay.count >= failuresMax) return undefined;
      underWay.count += 1;
      lookUps.set(address, underWay);
      return () => end(address, underWay);
    },
    async untilSomeEnd(address) {
      await lookUps.get(address)?.someEnded;
    },
  };
}

function newEnd(): Pick<UnderWay, 'someEnded' | 'tell'> {
  let tell: () => void = () => undefined;
  const someEnded = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { someEnded, tell };
}

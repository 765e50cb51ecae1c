import { LRUCache } from 'lru-cache';

/** Counts failed authentications of an address (contract §5). */
export interface FailedAttempts {
  note(address: string): void;
  /** Whole seconds until the address may show new keys again; undefined while it may. */
  blockedForSeconds(address: string): number | undefined;
}

const failuresMax = 60;
const windowMs = 60_000;
/** Some megabytes at most; beyond it the address that failed longest ago is forgotten. */
const addressesMax = 20_000;

/** @param nowMs a monotonic clock */
export function createFailedAttempts(nowMs: () => number = () => performance.now()): FailedAttempts {
  const windows = new LRUCache<string, { failures: number; endsAtMs: number }>({ max: addressesMax });
  return {
    note(address) {
      const now = nowMs();
      const current = windows.get(address);
      if (current === undefined || current.endsAtMs <= now)
        windows.set(address, { failures: 1, endsAtMs: now + windowMs });
      else current.failures += 1;
    },
    blockedForSeconds(address) {
      const current = windows.get(address);
      const leftMs = (current?.endsAtMs ?? 0) - nowMs();
      return current !== undefined && current.failures >= failuresMax && leftMs > 0
        ? Math.ceil(leftMs / 1_000)
        : undefined;
    },
  };
}

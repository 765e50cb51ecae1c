import { createHash } from 'node:crypto';
import type { Idempotency } from '../../shared/domain/operation.js';

/** What a key is remembered under (contract §7): the same key of another shop, method or path is another key. */
export interface IdempotencyScope {
  shopId: number;
  method: string;
  path: string;
  key: string;
}

/**
 * The idempotency that a key gives a write: the sum of the scope in which it is remembered, and the sum of everything
 * that gives the request its meaning, so that the same key with another request is refused.
 */
export function idempotencyOf(
  { shopId, method, path, key }: IdempotencyScope,
  meaning: readonly string[],
): Idempotency {
  return { scope: sha256([String(shopId), method, path, key]), requestHash: sha256(meaning) };
}

/** The same text for the same JSON value, whatever the order of its members. It is at most as deep as a body may be. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}

/** Hashes the parts and where each ends, so that no two different lists have the same sum. */
function sha256(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

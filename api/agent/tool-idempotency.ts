import type { Idempotency } from '../../shared/domain/operation.js';
import type { Caller } from '../caller.js';
import { canonicalJson, idempotencyOf } from '../operations/idempotency.js';

/**
 * The idempotency that the argument `idempotencyKey` gives a call (contract §7). The key is remembered for shop +
 * `POST` + `/mcp/<tool>/<variantId>`, a path that exists only for this, so the same key on REST, for another tool or
 * for another material is another key. All other arguments are the meaning of the call; `dryRun: false` is that of none.
 */
export function toolIdempotency(
  tool: string,
  { shop }: Caller,
  { idempotencyKey: key, dryRun, ...rest }: { variantId: string; idempotencyKey?: string; dryRun?: boolean },
): Idempotency | undefined {
  if (key === undefined) return undefined;
  const path = `/mcp/${tool}/${rest.variantId}`;
  const meaning = dryRun === true ? { ...rest, dryRun } : rest;
  return idempotencyOf({ shopId: shop.id, method: 'POST', path, key }, [canonicalJson(meaning)]);
}

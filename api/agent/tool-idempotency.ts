import type { Idempotency } from '../../shared/domain/operation.js';
import type { Caller } from '../caller.js';
import { canonicalJson, idempotencyOf } from '../operations/idempotency.js';

/**
 * The idempotency that the argument `idempotencyKey` gives a call (contract §7). It is remembered for shop + `POST` +
 * `/mcp/<tool>/<variantId>` + key. The path is the one that the call would have if it had its own, so a key of the REST
 * surface, or of another tool or material, is another key. All other arguments give the call its meaning.
 */
export function toolIdempotency(
  tool: string,
  { shop }: Caller,
  { idempotencyKey: key, ...meaning }: { variantId: string; idempotencyKey?: string },
): Idempotency | undefined {
  if (key === undefined) return undefined;
  const path = `/mcp/${tool}/${meaning.variantId}`;
  return idempotencyOf({ shopId: shop.id, method: 'POST', path, key }, [canonicalJson(meaning)]);
}

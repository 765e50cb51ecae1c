import type { Reply } from '../http/request-state.js';
import { invalidId } from '../operations/material-address.js';

/**
 * A path in which a global id stands with its slashes raw (`…/gid://shopify/ProductVariant/1/inventory`): it is as much
 * a bad id as the escaped form, and not an unknown path (contract §1).
 */
export function refuseRawGlobalId(): Reply {
  return { result: invalidId };
}

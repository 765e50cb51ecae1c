import type { KeyScope } from '../shared/database/api-keys.js';
import type { Shop } from '../shared/database/shops.js';
import type { Channel } from '../shared/domain/operation.js';

/**
 * Who makes a request, as authentication found out. Every use case takes the shop from here and from nowhere else
 * (reliability §3).
 */
export interface Caller {
  shop: Shop;
  keyId: string;
  scope: KeyScope;
  channel: Channel;
  /** A UUIDv7; also the id of the operation that the request becomes. */
  requestId: string;
}

/** Whether a key of one scope may be used for what needs another: every key reads. */
export function mayUse(keyScope: KeyScope, needed: KeyScope): boolean {
  return needed === 'read' || keyScope === 'write';
}

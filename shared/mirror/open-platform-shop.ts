import type { Shop } from '../database/shops.js';
import type { PlatformShop } from '../platform/commerce-platform.js';
import type { TokenCipher } from '../platform/token-cipher.js';

/** What is needed to call a shop's platform, with the token in clear: not for any log. */
export function openPlatformShop(
  { id, platform }: Pick<Shop, 'id' | 'platform'>,
  tokenCipher: TokenCipher,
): { ok: true; platformShop: PlatformShop } | { ok: false; error: 'not-connected' | 'token-unreadable' } {
  if (platform === null) return { ok: false, error: 'not-connected' };
  const opened = tokenCipher.open(platform.tokenSealed.toString('base64url'), id);
  if (!opened.ok) return { ok: false, error: 'token-unreadable' };
  return { ok: true, platformShop: { shopId: id, domain: platform.domain, accessToken: opened.token } };
}

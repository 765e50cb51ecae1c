import type { PlatformShop } from './commerce-platform.js';
import type { TokenCipher } from './token-cipher.js';

/** A shop as it is stored; `platform` is null if it is not connected. */
interface ConnectedShop {
  id: number;
  platform: { domain: string; tokenSealed: Buffer } | null;
}

/**
 * What is needed to call a shop's platform, with the token in clear: not for any log.
 *
 * @param tokenCipher undefined in a process that was given no key: then no token can be read
 */
export function openPlatformShop(
  { id, platform }: ConnectedShop,
  tokenCipher: TokenCipher | undefined,
): { ok: true; platformShop: PlatformShop } | { ok: false; error: 'not-connected' | 'token-unreadable' } {
  if (platform === null) return { ok: false, error: 'not-connected' };
  const accessToken = tokenCipher?.open(platform.tokenSealed, id);
  if (accessToken === undefined) return { ok: false, error: 'token-unreadable' };
  return { ok: true, platformShop: { shopId: id, domain: platform.domain, accessToken } };
}

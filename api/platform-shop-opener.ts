import { openPlatformShop } from '../shared/platform/open-platform-shop.js';
import type { TokenCipher } from '../shared/platform/token-cipher.js';
import type { Logger } from '../shared/runtime/logger.js';

export type OpenPlatformShop = (shop: Parameters<typeof openPlatformShop>[0]) => ReturnType<typeof openPlatformShop>;

/**
 * As `openPlatformShop`; a shop whose token cannot be opened is told to the operator once, and again only if it could be
 * opened in between: each of its reads comes here.
 *
 * @param tokenCipher undefined without PLATFORM_TOKEN_KEY: then no shop's platform can be called
 */
export function createPlatformShopOpener(tokenCipher: TokenCipher | undefined, logger: Logger): OpenPlatformShop {
  const told = new Set<number>();
  return (shop) => {
    const opened = openPlatformShop(shop, tokenCipher);
    if (opened.ok) told.delete(shop.id);
    else if (opened.error === 'token-unreadable' && !told.has(shop.id)) {
      told.add(shop.id);
      logger.error({ shopId: shop.id }, tokenCipher === undefined ? keyMissing : tokenUnreadable);
    }
    return opened;
  };
}

const keyMissing =
  "A shop's platform cannot be asked: PLATFORM_TOKEN_KEY is not set in this process. Its reads are answered with 502.";
const tokenUnreadable =
  "A shop's platform token cannot be opened: PLATFORM_TOKEN_KEY is not the one that it was sealed with. Its reads are answered with 502.";

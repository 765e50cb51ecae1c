import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Caller } from '../../../api/caller.js';
import { readLevels } from '../../../api/operations/read-levels.js';
import { createPlatformShopOpener } from '../../../api/platform-shop-opener.js';
import type { Services } from '../../../api/services.js';
import { succeed } from '../../../shared/domain/errors.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import type { TokenCipher } from '../../../shared/platform/token-cipher.js';
import type { Logger } from '../../../shared/runtime/logger.js';

describe('the levels of a material of the platform', () => {
  const newCipher = () => createTokenCipher(randomBytes(32).toString('hex'));
  const domain = 'demo-shop.myshopify.com';
  const platform = { domain, tokenSealed: newCipher().seal('token', 7) };

  /** What is answered, and what the log has, where the platform is never asked. */
  async function read(shop: { platform: typeof platform | null }, tokenCipher: TokenCipher | undefined, times = 1) {
    const lines: unknown[] = [];
    const logger = { error: (fields: object, message: string) => lines.push({ ...fields, message }) };
    const services = {
      reads: { ask: () => Promise.resolve(succeed({ totalQuantity: 0, levels: [] })) },
      platform: { readLevels: () => Promise.reject(new Error('asked')) },
      openPlatformShop: createPlatformShopOpener(tokenCipher, logger as unknown as Logger),
    } as unknown as Services;
    const caller = { shop: { id: 7, ...shop } } as unknown as Caller;
    for (let count = 0; count < times; count += 1) {
      const result = await readLevels(services, caller, { variantId: '8001', locationIds: undefined });
      expect(result).to.have.nested.property('error.code', 'UPSTREAM_ERROR');
    }
    return lines;
  }

  const unreadable: [what: string, cipher: TokenCipher | undefined, told: string][] = [
    ['without a key', undefined, 'PLATFORM_TOKEN_KEY is not set in this process'],
    ['with another key', newCipher(), 'PLATFORM_TOKEN_KEY is not the one that it was sealed with'],
  ];
  for (const [what, cipher, told] of unreadable) {
    it(`are errors of the platform to the client ${what}, and one line in the log for the operator`, async () => {
      const lines = await read({ platform }, cipher, 3);
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include({ shopId: 7 }).and.to.have.property('message').that.contains(told);
    });
  }

  it('are told to the operator again where the token could be opened in between', () => {
    const [cipher, other] = [newCipher(), newCipher()];
    const lines: string[] = [];
    const logger = { error: (_: object, message: string) => lines.push(message) } as unknown as Logger;
    const openPlatformShop = createPlatformShopOpener(cipher, logger);
    for (const [sealedBy, count] of [
      [other, 1],
      [other, 1],
      [cipher, 1],
      [other, 2],
    ] as const) {
      openPlatformShop({ id: 7, platform: { domain, tokenSealed: sealedBy.seal('token', 7) } });
      expect(lines).to.have.length(count);
    }
  });

  it('of a shop that is not connected are the same to the client, and nothing to the operator', async () => {
    expect(await read({ platform: null }, newCipher())).to.deep.equal([]);
  });
});

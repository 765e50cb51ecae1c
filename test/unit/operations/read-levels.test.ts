import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Caller } from '../../../api/caller.js';
import { readLevels } from '../../../api/operations/read-levels.js';
import type { Services } from '../../../api/services.js';
import { succeed } from '../../../shared/domain/errors.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import type { TokenCipher } from '../../../shared/platform/token-cipher.js';

describe('the levels of a material of the platform', () => {
  const newCipher = () => createTokenCipher(randomBytes(32).toString('hex'));
  const domain = 'demo-shop.myshopify.com';
  const platform = { domain, tokenSealed: newCipher().seal('token', 7) };

  /** What is answered, and what the log has, where the platform is never asked. */
  async function read(shop: { platform: typeof platform | null }, tokenCipher: TokenCipher | undefined) {
    const lines: unknown[] = [];
    const services = {
      reads: { ask: () => Promise.resolve(succeed({ totalQuantity: 0, levels: [] })) },
      logger: { error: (fields: object, message: string) => lines.push({ ...fields, message }) },
      platform: { readLevels: () => Promise.reject(new Error('asked')) },
      tokenCipher,
    } as unknown as Services;
    const caller = { shop: { id: 7, ...shop } } as unknown as Caller;
    const result = await readLevels(services, caller, { variantId: '8001', locationIds: undefined });
    expect(result).to.have.nested.property('error.code', 'UPSTREAM_ERROR');
    return lines;
  }

  it('whose token cannot be opened are an error of the platform to the client, and one in the log for the operator', async () => {
    for (const cipher of [newCipher(), undefined]) {
      const lines = await read({ platform }, cipher);
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include({ shopId: 7 }).and.to.have.property('message').that.contains('PLATFORM_TOKEN_KEY');
    }
  });

  it('of a shop that is not connected are the same to the client, and nothing to the operator', async () => {
    expect(await read({ platform: null }, newCipher())).to.deep.equal([]);
  });
});

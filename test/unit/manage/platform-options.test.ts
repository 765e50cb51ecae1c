import { expect } from 'chai';
import { readPlatform } from '../../../shared/manage/platform-options.js';
import type { CommandContext } from '../../../shared/manage/run-command.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';

const key = 'ab'.repeat(32);

describe('the token of a --platform-domain', () => {
  const read = (platformToken: string) => {
    const context = { platformTokenKey: key, platformToken } as CommandContext;
    return readPlatform(context, { platformDomain: 'p.myshopify.com' }, null);
  };

  it('has up to 255 characters', async () => {
    const longest = 'x'.repeat(255);
    const connect = await read(longest);
    if (!connect.ok) throw new Error(connect.problem);
    const { tokenSealed, domain } = connect.value?.(7) ?? {};
    expect(domain).to.equal('p.myshopify.com');
    expect(createTokenCipher(key).open(tokenSealed ?? Buffer.alloc(0), 7)).to.equal(longest);
    expect(await read(`${longest}x`)).to.have.property('ok', false);
  });
});

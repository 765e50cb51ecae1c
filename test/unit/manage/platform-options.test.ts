import { expect } from 'chai';
import { platformDomain, readPlatform } from '../../../shared/manage/platform-options.js';
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

describe('a --platform-domain on 127.0.0.1', () => {
  const standIn = 'http://127.0.0.1:40001';

  it('is taken where the demo shop has its stand-in there, and elsewhere the refusal says what it needs', () => {
    expect(platformDomain({ allowLoopback: true })(standIn)).to.equal(standIn);
    const parse = platformDomain({ allowLoopback: false });
    expect(() => parse(standIn)).to.throw('Needs PLATFORM_ALLOW_LOOPBACK=true.');
  });

  it('is the only one besides those of the platform', () => {
    const parse = platformDomain({ allowLoopback: true });
    expect(() => parse('http://127.0.0.2:80')).to.throw('Must be <name>.myshopify.com.');
  });
});

import { InvalidArgumentError } from 'commander';
import type { ShopPlatform } from '../database/shops.js';
import { createTokenCipher } from '../platform/token-cipher.js';
import { isLoopback, shopEndpoint } from '../platform/shopify/shop-endpoint.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import type { CommandContext } from './run-command.js';

export interface PlatformOptions {
  platformDomain?: string;
  platformTokenStdin?: true;
}

/** Whether a shop may have a platform on 127.0.0.1. */
export type Loopback = Pick<CommandContext, 'allowLoopback'>;

/** Seals the token for a shop, whose id is part of what is sealed and so must be known. */
export type ConnectPlatform = (shopId: number) => ShopPlatform;

const tokenCharactersMax = 255;

/** Of a `PLATFORM_TOKEN_KEY` that is not set. */
export const sameKey = 'Set it to the one that the API and the workers have (a first one: openssl rand -hex 32).';

/** Parses `--platform-domain`. */
export function platformDomain(given: Loopback): (text: string) => string {
  return (text) => {
    if (shopEndpoint(text, given) !== undefined) return text;
    const wanted = isLoopback(text) ? 'Needs PLATFORM_ALLOW_LOOPBACK=true.' : 'Must be <name>.myshopify.com.';
    throw new InvalidArgumentError(wanted);
  };
}

/**
 * The platform that the options, stdin and PLATFORM_TOKEN give a shop; undefined if they give none. A new token alone
 * keeps the domain. A new domain needs its own token, because the old one belongs to another shop of the platform.
 *
 * @param current what the shop is connected to, which may be another once stdin has been read
 */
export async function readPlatform(
  context: CommandContext,
  options: PlatformOptions,
  current: ShopPlatform | null,
): Promise<Outcome<ConnectPlatform | undefined>> {
  const { platformDomain: given, platformTokenStdin } = options;
  if (given === undefined && platformTokenStdin === undefined) return { ok: true, value: undefined };
  const domain = given ?? current?.domain;
  if (domain === undefined) return failed('A platform token needs its --platform-domain.');
  const { platformTokenKey: key } = context;
  if (key === undefined)
    return failed(`PLATFORM_TOKEN_KEY is not set, and a token is stored only if it is sealed. ${sameKey}`);
  const token = platformTokenStdin === true ? await context.readStdin() : context.platformToken;
  if (token === undefined) {
    return failed(
      'The domain needs its token: on stdin with --platform-token-stdin, or in the variable PLATFORM_TOKEN.',
    );
  }
  if (!/^[!-~]+$/.test(token) || token.length > tokenCharactersMax) {
    return failed(`The platform token must be 1 to ${tokenCharactersMax} visible ASCII characters, and nothing else.`);
  }
  const cipher = createTokenCipher(key);
  return {
    ok: true,
    value: (shopId) => ({ domain, tokenSealed: cipher.seal(token, shopId) }),
  };
}

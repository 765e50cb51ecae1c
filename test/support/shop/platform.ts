import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Database } from '../../../shared/database/connect.js';
import { updateShop } from '../../../shared/database/shops.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import { standInAccessToken } from '../../../shared/standalone/stand-in-platform.js';

/** What the service under test opens platform tokens with. For tests alone: 32 bytes that protect nothing. */
export const platformTokenKey = '1f'.repeat(32);

/** Connects a shop to a platform: a stand-in's address or a shop's domain. */
export async function connectPlatform(
  database: Database,
  shopId: number,
  domain: string,
  token = standInAccessToken,
): Promise<void> {
  const tokenSealed = createTokenCipher(platformTokenKey).seal(token, shopId);
  await updateShop(database, shopId, { platform: { domain, tokenSealed } });
}

/** A platform that answers as a test says, or not at all, and counts its calls. */
export interface ScriptedPlatform {
  url: string;
  readonly calls: number;
  stop(): Promise<void>;
}

export async function startScriptedPlatform(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<ScriptedPlatform> {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    get calls() {
      return calls;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { timingSafeEqual } from 'node:crypto';
import { isJsonObject } from '../contract/json-object.js';
import { findKeyWithShop, insertKey, listKeys, revokeKey } from '../database/api-keys.js';
import type { KeyScope } from '../database/api-keys.js';
import type { Database } from '../database/connect.js';
import { mintKey, parseKey } from '../keys/api-key-format.js';
import { writeWhole } from './data-folder.js';

export interface WantedKey {
  shopId: number;
  scope: KeyScope;
  /** Also tells the demo's earlier keys from other keys of the shop. */
  label: string;
}

/**
 * A working key for each name, the same at every start. They are kept in `demo-keys.json`, mode 0600, because the
 * database has only hashes. A key that is missing there, or does not work any more, is made anew, and earlier ones are
 * revoked.
 */
export async function keepDemoKeys<Name extends string>(
  database: Database,
  dataFolder: string,
  wanted: Record<Name, WantedKey>,
): Promise<Record<Name, string>> {
  const path = join(dataFolder, 'demo-keys.json');
  const known = readKnown(path);
  const keys: Record<string, string> = {};
  const fresh: [WantedKey, ReturnType<typeof mintKey>][] = [];
  for (const [name, want] of Object.entries<WantedKey>(wanted)) {
    const before = known[name];
    if (typeof before === 'string' && (await works(database, before, want))) {
      keys[name] = before;
    } else {
      const minted = mintKey();
      fresh.push([want, minted]);
      keys[name] = minted.key;
    }
  }
  if (fresh.length > 0) {
    // The file first: if the start is cut off here, the next one makes the keys anew. In the other order, the database
    // would have keys that are in no file.
    writeWhole(path, `${JSON.stringify(keys, null, 2)}\n`);
    for (const [want, { id, secretHash }] of fresh) await replaceKey(database, want, id, secretHash);
  }
  return keys;
}

async function works(database: Database, key: string, { shopId, scope }: WantedKey): Promise<boolean> {
  const parsed = parseKey(key);
  const stored = parsed && (await findKeyWithShop(database, parsed.id));
  if (parsed === undefined || stored === undefined) return false;
  const isValid = stored.revokedAt === null && stored.expiresAt === null;
  const isSame = stored.shopId === shopId && stored.scope === scope;
  return isValid && isSame && timingSafeEqual(stored.secretHash, parsed.secretHash);
}

async function replaceKey(database: Database, want: WantedKey, id: string, secretHash: Buffer): Promise<void> {
  const { shopId, scope, label } = want;
  const before = (await listKeys(database, shopId)).filter((key) => key.label === label && key.revokedAt === null);
  for (const key of before) await revokeKey(database, shopId, key.id, new Date());
  await insertKey(database, shopId, { id, label, scope, secretHash, expiresAt: null });
}

/** Anything but a JSON object, such as a file that somebody else half wrote, counts as no keys. */
function readKnown(path: string): Record<string, unknown> {
  if (!existsSync(path)) return {};
  try {
    const known: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isJsonObject(known) ? known : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

import { v7 as uuidv7 } from 'uuid';
import { insertKey } from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { addLocations } from '../../../shared/database/locations.js';
import { createShop, updateShop } from '../../../shared/database/shops.js';
import type { Plan } from '../../../shared/database/shops.js';
import type { Command, Operation } from '../../../shared/domain/operation.js';
import { virtualMaterialId } from '../../../shared/domain/material-id.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';

/** A shop for a test: known locations and virtual materials, a key of each scope. */
export interface TestShop {
  shopId: number;
  locationIds: string[];
  materialIds: string[];
  readKey: string;
  writeKey: string;
}

export interface TestShopOptions {
  plan?: Plan;
  allowNegative?: boolean;
  locations?: number;
  materials?: number;
  /** Requests a window; so high by default that no test meets it unawares. */
  rateLimitPoints?: number | null;
  /** Whether the first location is the default one. */
  defaultLocation?: boolean;
  /** Given ids, for two shops with the same. */
  materialIds?: string[];
}

export async function createTestShop(database: Database, options: TestShopOptions = {}): Promise<TestShop> {
  const { plan = 'enhanced', allowNegative = false, locations = 3, materials = 1 } = options;
  const { rateLimitPoints = 1_000_000, defaultLocation = true } = options;
  const { id: shopId } = await createShop(database, {
    name: 'Test',
    plan,
    allowNegativeInventory: allowNegative,
    rateLimitPoints,
  });
  const locationIds = Array.from({ length: locations }, (_, index) => String(1_001 + index));
  await addLocations(
    database,
    shopId,
    locationIds.map((id) => ({ id, name: `Location ${id}` })),
  );
  if (defaultLocation) await updateShop(database, shopId, { defaultLocationId: locationIds[0] ?? null });
  const materialIds = options.materialIds ?? Array.from({ length: materials }, () => virtualMaterialId(uuidv7()));
  for (let start = 0; start < materialIds.length; start += 1_000) {
    await createMaterials(
      database,
      shopId,
      materialIds.slice(start, start + 1_000).map((id) => ({ id, origin: 'virtual', productName: `Material ${id}` })),
    );
  }
  return {
    shopId,
    locationIds,
    materialIds,
    readKey: await issueKey(database, shopId, 'read'),
    writeKey: await issueKey(database, shopId, 'write'),
  };
}

async function issueKey(database: Database, shopId: number, scope: 'read' | 'write'): Promise<string> {
  const { key, id, secretHash } = mintKey();
  await insertKey(database, shopId, { id, label: scope, scope, secretHash, expiresAt: null });
  return key;
}

/** An operation as the API would make it, accepted now by the clock of this machine. */
export function operationOf(command: Command, more: Partial<Operation> = {}): Operation {
  const id = uuidv7();
  return { id, command, acceptedAtMs: Date.now(), channel: 'rest', keyId: null, requestId: id, ...more };
}

import { connectDatabase } from '../database/connect.js';
import type { Database } from '../database/connect.js';
import { createBill } from '../database/bills.js';
import type { NewBill } from '../database/bills.js';
import { createMaterials } from '../database/create-materials.js';
import type { NewMaterial } from '../database/create-materials.js';
import { readLevels } from '../database/levels.js';
import { addLocations } from '../database/locations.js';
import type { NewLocation } from '../database/locations.js';
import { findMaterial } from '../database/materials.js';
import { createShop, listShops, updateShop } from '../database/shops.js';
import type { NewShop, Shop } from '../database/shops.js';
import { toMicros } from '../domain/quantity.js';
import { createTokenCipher } from '../platform/token-cipher.js';
import { bookOpeningStock } from './book-opening-stock.js';
import {
  basicLocations,
  basicMaterials,
  demoBills,
  demoLocations,
  demoPlatformMaterials,
  demoVirtualMaterials,
  loadLocations,
  loadMaterials,
} from './demo-catalogue.js';
import { keepDemoKeys } from './demo-keys.js';
import { standInAccessToken } from './stand-in-platform.js';

/** What `.data/demo.json` says besides addresses (platform §1). */
export interface DemoAccess {
  shopId: number;
  readKey: string;
  writeKey: string;
  basicPlanKey: string;
  loadKey: string;
  virtualMaterialIds: string[];
  platformMaterialIds: string[];
  locationIds: string[];
  load: { materialIds: string[]; locationIds: string[] };
}

export interface DemoOptions {
  databaseUrl: string;
  /** Where the keys are kept. */
  dataDir: string;
  /** The loopback stand-in's address, which changes from start to start. */
  platformUrl: string;
  platformTokenKey: string;
}

const poolMax = 1;
/** Requests a window: 16 million a second in the usual one, which no load reaches. */
const loadLimitPoints = 1_000_000_000;

/**
 * The demo's three shops, on a migrated database: "Demo" with materials of both origins, bills and stock, "Basic plan"
 * for the 403, "Load" for load runs. What is there stays as people have changed it; what an earlier start did not get
 * done is done now. Throws where the database does, or where stock cannot be booked.
 */
export async function seedDemo(options: DemoOptions): Promise<DemoAccess> {
  const { databaseUrl: url, dataDir } = options;
  const database = connectDatabase({ url, poolMax, applicationName: 'raw-materials-demo', pipeline: true });
  try {
    const shops = await listShops(database);
    const demo = await ensureShop(database, shops, demoShop);
    const basic = await ensureShop(database, shops, basicShop);
    const load = await ensureShop(database, shops, loadShop);
    await connectPlatform(database, demo, options);
    await stockDemo(database, demo.id);
    const keys = await keepDemoKeys(database, dataDir, {
      readKey: { shopId: demo.id, scope: 'read', label: 'Demo, read' },
      writeKey: { shopId: demo.id, scope: 'write', label: 'Demo, write' },
      basicPlanKey: { shopId: basic.id, scope: 'write', label: 'Demo of the plan' },
      loadKey: { shopId: load.id, scope: 'write', label: 'Load runs' },
    });
    return {
      shopId: demo.id,
      ...keys,
      virtualMaterialIds: demoVirtualMaterials.map(({ id }) => id),
      platformMaterialIds: demoPlatformMaterials.map(({ id }) => id),
      locationIds: demoLocations.map(({ id }) => id),
      load: { materialIds: loadMaterials.map(({ id }) => id), locationIds: loadLocations.map(({ id }) => id) },
    };
  } finally {
    await database.destroy();
  }
}

interface DemoShop {
  shop: NewShop;
  locations: readonly NewLocation[];
  materials: readonly NewMaterial[];
  bills: readonly NewBill[];
}

const demoShop: DemoShop = {
  shop: { name: 'Demo', plan: 'enhanced' },
  locations: demoLocations,
  materials: [...demoVirtualMaterials, ...demoPlatformMaterials],
  bills: demoBills,
};
const basicShop: DemoShop = {
  shop: { name: 'Basic plan', plan: 'basic' },
  locations: basicLocations,
  materials: basicMaterials,
  bills: [],
};
const loadShop: DemoShop = {
  shop: { name: 'Load', plan: 'enhanced', rateLimitPoints: loadLimitPoints },
  locations: loadLocations,
  materials: loadMaterials,
  bills: [],
};

/**
 * A demo shop is known by its first material, not by its name alone: in a database of one's own (DATABASE_URL) another
 * shop may be called "Demo". It comes whole, in one transaction, or not at all.
 */
async function ensureShop(database: Database, shops: readonly Shop[], demo: DemoShop): Promise<Shop> {
  const marker = demo.materials[0]?.id ?? '';
  for (const shop of shops.filter(({ name }) => name === demo.shop.name)) {
    if ((await findMaterial(database, shop.id, marker)) !== undefined) return shop;
  }
  return database.transaction(async (transaction) => {
    const { id } = await createShop(transaction, demo.shop);
    await addLocations(transaction, id, demo.locations);
    await createMaterials(transaction, id, demo.materials);
    for (const bill of demo.bills) await createBill(transaction, id, bill);
    const updated = await updateShop(transaction, id, { defaultLocationId: demo.locations[0]?.id ?? null });
    if (!updated.ok) throw new Error(`the demo shop "${demo.shop.name}" could not be made: ${updated.error}`);
    return updated.shop;
  });
}

/** Sealed anew only where it must be: another port of the stand-in, or another key. */
async function connectPlatform(
  database: Database,
  shop: Shop,
  { platformUrl: domain, platformTokenKey }: DemoOptions,
): Promise<void> {
  const cipher = createTokenCipher(platformTokenKey);
  if (shop.platform?.domain === domain) {
    const opened = cipher.open(shop.platform.tokenSealed, shop.id);
    if (opened.ok && opened.token === standInAccessToken) return;
  }
  const tokenSealed = cipher.seal(standInAccessToken, shop.id);
  await updateShop(database, shop.id, { platform: { domain, tokenSealed } });
}

/** Books the opening stock of materials that have no level yet: levels never go away, so this happens once to each. */
async function stockDemo(database: Database, shopId: number): Promise<void> {
  const wanted = [];
  for (const { id, openingStock } of demoVirtualMaterials) {
    if (openingStock.length === 0) continue;
    const booked = await readLevels(database, shopId, id);
    if (booked?.levels.length !== 0) continue;
    const levels = demoLocations
      .slice(0, openingStock.length)
      .map((location, index) => ({ locationId: location.id, quantity: toMicros(openingStock[index] ?? 0) }));
    wanted.push({ materialId: id, levels });
  }
  const stocked = await bookOpeningStock(database, shopId, wanted);
  if (!stocked.ok) throw new Error(stocked.problem);
}

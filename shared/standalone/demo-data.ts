import { withDatabase } from '../database/connect.js';
import type { Database } from '../database/connect.js';
import { createBill } from '../database/bills.js';
import type { NewBill } from '../database/bills.js';
import { createMaterials } from '../database/create-materials.js';
import { isDriverTimeout, isServerTimeout } from '../database/errors.js';
import {
  facetsOfVendors,
  insertMaterialsWithStock,
  insertParameters,
} from '../database/insert-materials-with-stock.js';
import { addLocations } from '../database/locations.js';
import type { NewLocation } from '../database/locations.js';
import { findShopsWith } from '../database/materials.js';
import { createShop, listShops, updateShop } from '../database/shops.js';
import type { NewShop, Shop } from '../database/shops.js';
import { makeMissingStatistics } from '../database/statistics.js';
import type { Origin } from '../domain/material.js';
import { toMicros } from '../domain/quantity.js';
import { openStock } from '../inventory/opening-stock.js';
import type { OpenedStock } from '../inventory/opening-stock.js';
import { isLoopback } from '../platform/shopify/shop-endpoint.js';
import { createTokenCipher } from '../platform/token-cipher.js';
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
import type { DemoMaterial } from './demo-catalogue.js';
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
  dataFolder: string;
  /** The loopback stand-in's address, which changes from start to start. */
  platformUrl: string;
  platformTokenKey: string;
  /** Told which platform the demo shop has, once it has it. */
  say?: (line: string) => void;
}

const poolMax = 1;
/** Requests a window: 16 million a second in the usual one, which no load reaches. */
const loadLimitPoints = 1_000_000_000;

/** A commit or a foreign key holds nobody up for so long. With what else a start does, it stays below T19's 15 s. */
const lockMsMax = 5_000;

/** While a synchronous standby is away no commit returns, and `lock_timeout` does not end that wait. */
const answerMsMax = 7_000;

/**
 * The demo's three shops, on a migrated database: "Demo" with materials of both origins, bills and stock, "Basic plan"
 * for the 403, "Load" for load runs. What is there stays as people have changed it; what an earlier start did not get
 * done is done now. Throws where the database does, and where another session holds a row or a table of it for longer
 * than five seconds (`isServerTimeout`); then nothing has been changed. It throws as well where an answer takes longer
 * than seven (`isDriverTimeout`); then it may have been.
 */
export async function seedDemo(options: DemoOptions): Promise<DemoAccess> {
  const pool = { url: options.databaseUrl, poolMax, applicationName: 'raw-materials-demo', answerMsMax };
  return withDatabase(pool, async (database) => {
    const { access, platform } = await database.transaction(async (transaction) => {
      await transaction.raw(`SET LOCAL lock_timeout = ${lockMsMax}`);
      return ensureDemo(transaction, options);
    });
    await beginStatistics(database);
    options.say?.(`Commerce platform: ${platform}`);
    return access;
  });
}

/**
 * Waits for the statistics that are missing, but not longer than for another answer: those of a restored database with
 * millions of materials may take minutes. Postgres makes them all the same, since an ANALYZE does not notice that its
 * session has ended; or autovacuum does, where the role has a `statement_timeout`.
 */
async function beginStatistics(database: Database): Promise<void> {
  try {
    await makeMissingStatistics(database);
  } catch (error) {
    if (!isDriverTimeout(error) && !isServerTimeout(error)) throw error;
  }
}

interface EnsuredDemo {
  access: DemoAccess;
  /** Of the demo shop, in words. */
  platform: string;
}

async function ensureDemo(transaction: Database, options: DemoOptions): Promise<EnsuredDemo> {
  const shops = await listShops(transaction);
  const demo = await ensureShop(transaction, shops, demoShop);
  const basic = await ensureShop(transaction, shops, basicShop);
  const load = await ensureShop(transaction, shops, loadShop);
  const isNew = shops.every(({ id }) => id !== demo.id);
  const platform = await connectPlatform(transaction, demo, isNew, options);
  const keys = await keepDemoKeys(transaction, options.dataFolder, {
    readKey: { shopId: demo.id, scope: 'read', label: 'Demo, read' },
    writeKey: { shopId: demo.id, scope: 'write', label: 'Demo, write' },
    basicPlanKey: { shopId: basic.id, scope: 'write', label: 'Demo of the plan' },
    loadKey: { shopId: load.id, scope: 'write', label: 'Load runs' },
  });
  const access = {
    shopId: demo.id,
    ...keys,
    virtualMaterialIds: demoVirtualMaterials.map(({ id }) => id),
    platformMaterialIds: demoPlatformMaterials.map(({ id }) => id),
    locationIds: demoLocations.map(({ id }) => id),
    load: { materialIds: loadMaterials.map(({ id }) => id), locationIds: loadLocations.map(({ id }) => id) },
  };
  return { access, platform };
}

interface DemoShop {
  shop: NewShop;
  locations: readonly NewLocation[];
  materials: readonly DemoMaterial[];
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
 * A demo shop is known by its first material and all its locations, and not by its name: people may change that, and
 * in a database of one's own (DATABASE_URL) another shop may be called "Demo". The material alone would not do, since
 * an import takes ids from a file, nor with one location: the README's 70001 for a real shop is also the demo's first.
 * A demo shop comes whole, with its stock, or not at all.
 */
async function ensureShop(transaction: Database, shops: readonly Shop[], demo: DemoShop): Promise<Shop> {
  const [known] = await findShopsWith(transaction, {
    materialId: demo.materials[0]?.id ?? '',
    locationIds: demo.locations.map(({ id }) => id),
  });
  const found = shops.find((shop) => shop.id === known);
  if (found !== undefined) return found;
  const { id } = await createShop(transaction, demo.shop);
  await addLocations(transaction, id, demo.locations);
  await addVirtual(transaction, id, demo);
  await createMaterials(transaction, id, materialsOf(demo, 'platform'));
  for (const bill of demo.bills) await createBill(transaction, id, bill);
  const updated = await updateShop(transaction, id, { defaultLocationId: demo.locations[0]?.id ?? null });
  if (!updated.ok) throw new Error(`the demo shop "${demo.shop.name}" could not be made: ${updated.error}`);
  return updated.shop;
}

function materialsOf({ materials }: DemoShop, wanted: Origin): DemoMaterial[] {
  return materials.filter(({ origin }) => origin === wanted);
}

/** Materials, levels and ledger together, as an import does. Nobody else waits for the facets of a new shop. */
async function addVirtual(transaction: Database, shopId: number, demo: DemoShop): Promise<void> {
  const virtual = materialsOf(demo, 'virtual');
  const facetIds = await facetsOfVendors(
    transaction,
    shopId,
    virtual.map(({ vendor }) => vendor ?? null),
  );
  const materials = virtual.map((fields, index) => {
    const facetId = facetIds[index];
    if (facetId === undefined) throw new Error('a vendor without a facet');
    return { material: { id: fields.id, fields, ...openingStockOf(fields, demo.locations) }, facetId };
  });
  await insertMaterialsWithStock(transaction, insertParameters(shopId, 'cli', materials));
}

function openingStockOf({ id, openingStock = [] }: DemoMaterial, locations: readonly NewLocation[]): OpenedStock {
  const levels = locations
    .slice(0, openingStock.length)
    .map((location, index) => ({ locationId: location.id, quantity: toMicros(openingStock[index] ?? 0) }));
  const opened = openStock(levels);
  if (!opened.ok) throw new Error(`${id} cannot have its opening stock: ${opened.message}`);
  return opened.stock;
}

/**
 * Seals the token anew only if it must: the stand-in has another port, or there is another key. A real platform that
 * somebody has connected the shop to stays, and so does a shop that somebody has disconnected.
 *
 * @returns the shop's platform, in words
 */
async function connectPlatform(
  transaction: Database,
  shop: Shop,
  isNew: boolean,
  { platformUrl: domain, platformTokenKey }: DemoOptions,
): Promise<string> {
  const { platform } = shop;
  if (platform === null && !isNew) {
    const command = `npm run manage -- shops set ${shop.id} --platform-domain ${domain}`;
    return `none, as somebody has disconnected the demo shop; back: PLATFORM_TOKEN=${standInAccessToken} ${command}`;
  }
  if (platform !== null && !isLoopback(platform.domain)) return `${platform.domain} for the demo shop`;
  const standIn = `a stand-in for the demo shop on ${domain}`;
  const cipher = createTokenCipher(platformTokenKey);
  if (platform?.domain === domain && cipher.open(platform.tokenSealed, shop.id) === standInAccessToken) return standIn;
  const tokenSealed = cipher.seal(standInAccessToken, shop.id);
  await updateShop(transaction, shop.id, { platform: { domain, tokenSealed } });
  return standIn;
}

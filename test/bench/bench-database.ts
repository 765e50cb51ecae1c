import { v7 as uuidv7 } from 'uuid';
import { connectDatabase } from '../../shared/database/connect.js';
import type { Database } from '../../shared/database/connect.js';
import { toMicros } from '../../shared/domain/quantity.js';
import { applyOperations } from '../../shared/inventory/apply-operations.js';
import { execute } from '../support/database/execute.js';
import { createTestDatabase, testPostgres } from '../support/processes/servers.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import type { BenchCatalogue } from './catalogue.js';
import { batchMaterialCount, locationCount, materialCount } from './scenarios.js';

/** What every level holds at first. */
const openingUnits = 1_000;

/** The largest that the column takes; the limit check runs, counts and never refuses. */
const rateLimitPoints = 2_000_000_000;
const materialsACall = 250;

export interface BenchDatabase {
  catalogue: BenchCatalogue;
  /** A copy for one design, so that no design meets another's rows. Returns its address. */
  copyFor: (design: string) => Promise<string>;
}

/** A shop with its materials, locations and opening stock, booked through the ledger; never analysed. */
export async function createBenchDatabase(): Promise<BenchDatabase> {
  const server = await testPostgres();
  const { url } = await createTestDatabase({ forWholeRun: true });
  const database = connectDatabase({ url, poolMax: 2, applicationName: 'raw-materials-bench-seed', pipeline: true });
  try {
    const catalogue = await addShop(database, { materials: materialCount, locations: locationCount });
    const template = new URL(url).pathname.slice(1);
    const copyFor = async (design: string) => {
      const name = `bench_${design.toLowerCase()}`;
      await execute(server.url, `CREATE DATABASE ${name} TEMPLATE ${template}`);
      return Object.assign(new URL(url), { pathname: `/${name}` }).href;
    };
    return { catalogue, copyFor };
  } finally {
    await database.destroy();
  }
}

/** A further shop in a database of the benchmark's. */
export async function addShopTo(databaseUrl: string, materials: number): Promise<BenchCatalogue> {
  const applicationName = 'raw-materials-bench-seed';
  const database = connectDatabase({ url: databaseUrl, poolMax: 1, applicationName, pipeline: true });
  try {
    return await addShop(database, { materials, locations: 1 });
  } finally {
    await database.destroy();
  }
}

async function addShop(database: Database, size: { materials: number; locations: number }): Promise<BenchCatalogue> {
  const shop = await createTestShop(database, { ...size, rateLimitPoints });
  await openLevels(database, shop);
  const { shopId, writeKey: key, materialIds, locationIds } = shop;
  return { shopId, key, materialIds, locationIds };
}

/** How many levels a material has: those that BATCH draws from have one at every location, the others at the first. */
function levelsOf(material: number): number {
  return material < batchMaterialCount ? locationCount : 1;
}

async function openLevels(database: Database, { shopId, materialIds, locationIds }: TestShop): Promise<void> {
  for (let start = 0; start < materialIds.length; start += materialsACall) {
    const groups = materialIds.slice(start, start + materialsACall).map((materialId, offset) => {
      const id = uuidv7();
      const rows = locationIds
        .slice(0, levelsOf(start + offset))
        .map((locationId) => ({ locationId, absolute: toMicros(openingUnits) }));
      const command = { kind: 'adjust' as const, rows };
      const operation = {
        id,
        command,
        acceptedAtMs: Date.now(),
        channel: 'import' as const,
        keyId: null,
        requestId: null,
      };
      return { shopId, materialId, operations: [operation] };
    });
    await applyOperations(database, groups, { nowMs: Date.now });
  }
}

/** What the server is set to, as it says itself. */
export async function readServerSettings(url: string): Promise<Record<string, string>> {
  const rows = await execute(
    url,
    `SELECT name, setting FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'server_version', 'max_wal_size')`,
  );
  return Object.fromEntries((rows as { name: string; setting: string }[]).map(({ name, setting }) => [name, setting]));
}

/** Writes out what the design before has left dirty, which would otherwise be written in the next one's window. */
export async function checkpoint(url: string): Promise<void> {
  await execute(url, 'CHECKPOINT');
}

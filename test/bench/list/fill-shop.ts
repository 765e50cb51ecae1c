import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { vendorCount, writeShopFile } from './shop-file.js';

export interface FilledShop extends TestShop {
  /** By `manage materials import`, from the start of the process to its end. */
  importSeconds: number;
}

const entry = fileURLToPath(new URL('../../../dist/shared/manage/main.js', import.meta.url));
const importMsMax = 30 * 60_000;
const materialsACall = 1_000;

/**
 * A shop with `count` imported materials, a twentieth as many platform variants, and a bill that uses a tenth of all of
 * them.
 */
export async function fillShop(database: Database, databaseUrl: string, count: number): Promise<FilledShop> {
  const shop = await createTestShop(database, { materials: 0, locations: 1, rateLimitPoints: 2_000_000_000 });
  const folder = await temporaryFolder();
  let importSeconds: number;
  try {
    const path = join(folder.path, 'materials.csv');
    await writeShopFile(path, count, shop.locationIds[0] ?? '');
    const startedMs = performance.now();
    await runImport(['materials', 'import', '--shop', String(shop.shopId), '--json', path], databaseUrl);
    importSeconds = (performance.now() - startedMs) / 1_000;
    await rm(path);
  } finally {
    await folder.remove();
  }
  await addVariants(database, shop.shopId, Math.ceil(count / 20));
  await addBill(database, shop.shopId);
  await database.raw('VACUUM (ANALYZE) materials, stock, bill_components, facets, facet_counts');
  return { ...shop, importSeconds };
}

async function runImport(args: string[], databaseUrl: string): Promise<void> {
  const child = spawn(process.execPath, [entry, ...args], {
    env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: importMsMax,
    killSignal: 'SIGKILL',
  });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`the import ended with ${String(code)}`);
}

async function addVariants(database: Database, shopId: number, count: number): Promise<void> {
  for (let start = 0; start < count; start += materialsACall) {
    const variants = Array.from({ length: Math.min(materialsACall, count - start) }, (_, offset) => ({
      id: String(4_000_000_000 + start + offset),
      origin: 'platform' as const,
      productName: `Variant ${start + offset}`,
      vendor: `Vendor ${offset % vendorCount}`,
      mirroredQuantity: (offset % 500) * 1_000_000,
    }));
    await createMaterials(database, shopId, variants);
  }
}

async function addBill(database: Database, shopId: number): Promise<void> {
  await database.raw(`INSERT INTO bills (shop_id, id, kind, name) VALUES (?, 'b', 'bill_of_materials', 'Bill')`, [
    shopId,
  ]);
  await database.raw(
    `INSERT INTO bill_components (shop_id, material_id, bill_id, quantity)
     SELECT shop_id, id, 'b', 1 FROM materials WHERE shop_id = ? AND hashtext(id) % 10 = 0`,
    [shopId],
  );
}

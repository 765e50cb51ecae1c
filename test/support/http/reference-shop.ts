import { insertKey } from '../../../shared/database/api-keys.js';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { addLocations } from '../../../shared/database/locations.js';
import { createShop, updateShop } from '../../../shared/database/shops.js';
import type { NewShop } from '../../../shared/database/shops.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';

export const waxBlendId = 'VMAT-VAR-5a8f9c1e-3d0b-4c6e-9b7a-1f2e3d4c5b6a';
export const glassJarId = '8005';

export interface ReferenceShop {
  shopId: number;
  readKey: string;
  writeKey: string;
}

/** The shop that the examples of the OpenAPI document speak of, with no stock yet. */
export async function createReferenceShop(database: Database, shop: Partial<NewShop> = {}): Promise<ReferenceShop> {
  const { id: shopId } = await createShop(database, { name: 'Reference', plan: 'enhanced', ...shop });
  await addLocations(database, shopId, [
    { id: '70001', name: 'Main warehouse' },
    { id: '70002', name: 'Workshop' },
  ]);
  await updateShop(database, shopId, { defaultLocationId: '70001' });
  await createMaterials(database, shopId, [
    {
      id: waxBlendId,
      origin: 'virtual',
      productName: 'Wax blend',
      variantName: 'Container, soy and beeswax',
      sku: 'MIX-WAX-CON',
      unit: 'kg',
      unitCost: 4.86,
      vendor: 'In-house',
    },
    {
      id: glassJarId,
      origin: 'platform',
      productName: 'Glass jar',
      variantName: '220 ml amber',
      sku: 'JAR-220-AM',
      unit: 'pcs',
      unitCost: 0.62,
      unitPrice: 1.8,
      vendor: 'Clearline Glass',
      mirroredQuantity: 4_606_000_000,
    },
  ]);
  await createBill(database, shopId, {
    id: 'bom-31',
    kind: 'bill_of_materials',
    name: 'Amber jar candle',
    components: [
      { materialId: waxBlendId, quantity: 180_000 },
      { materialId: glassJarId, quantity: 1_000_000 },
    ],
  });
  const issue = async (scope: 'read' | 'write') => {
    const { key, id, secretHash } = mintKey();
    await insertKey(database, shopId, { id, label: scope, scope, secretHash, expiresAt: null });
    return key;
  };
  return { shopId, readKey: await issue('read'), writeKey: await issue('write') };
}

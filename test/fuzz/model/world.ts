import type fc from 'fast-check';
import { createBill } from '../../../shared/database/bills.js';
import type { Database } from '../../../shared/database/connect.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { updateShop } from '../../../shared/database/shops.js';
import { parseKey } from '../../../shared/keys/api-key-format.js';
import type { Answer, Asked } from '../../support/http/http.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import type { Outcome } from './expect-writes.js';
import type { MaterialModel, ShopModel } from './stock-model.js';

/** The live side of a run: a shop of its own behind the running service. */
export interface LiveShop {
  shop: TestShop;
  ask(asked: Asked): Promise<Answer>;
  /** The shop's setting, as an operator switches it. */
  allowNegative(allowed: boolean): Promise<void>;
  /** Writes that were sent with a key, to be sent again. */
  keyed: KeyedWrite[];
}

/** What a write is made of, as the model needs it again for a repeat. */
export interface KeyedWrite {
  asked: Asked;
  write: Write;
}

export interface Write {
  /** By method, path and key, and all that gives the request its meaning; undefined without a good key. */
  key: { scope: string; meaning: string } | undefined;
  /** What is wrong with query or headers, which is looked at before the body. */
  fault: string | undefined;
  outcome: (model: ShopModel, requestId: string) => Outcome;
}

export type Command = fc.AsyncCommand<ShopModel, LiveShop>;

/** A step of a run, shown by its parameters where a run fails. */
export function command(title: string, run: (model: ShopModel, real: LiveShop) => Promise<void>): Command {
  return { check: () => true, run, toString: () => title };
}

/**
 * A material by a number that means the same in every run: virtual ones, the platform's, one unknown, and no id at all.
 */
export function variantIdAt(model: ShopModel, index: number): string {
  return [...model.materials.keys(), 'VMAT-VAR-unknown', 'gid:1'][index] ?? '';
}

export const variantIndexMax = 5;

export interface World {
  model: ShopModel;
  real: LiveShop;
}

export interface ShopKind {
  allowNegative: boolean;
  defaultLocation: boolean;
}

const virtualCount = 3;
const platformId = '8005';
const platformMicros = 4_606_500_000;

/** A new shop, and the model of it. */
export async function openWorld(
  { database, ask }: { database: Database; ask: LiveShop['ask'] },
  kind: ShopKind,
): Promise<World> {
  const shop = await createTestShop(database, { materials: virtualCount, locations: 3, ...kind });
  await createMaterials(database, shop.shopId, [
    { id: platformId, origin: 'platform', productName: 'Jar', vendor: 'glass', mirroredQuantity: platformMicros },
  ]);
  const [billed = ''] = shop.materialIds;
  await createBill(database, shop.shopId, {
    id: 'bom-1',
    kind: 'bill_of_materials',
    name: 'Candle',
    components: [{ materialId: billed, quantity: 1_500_000 }],
  });
  const materials = shop.materialIds.map((id) => newMaterial(id, 'virtual', `Material ${id}`, id === billed));
  const platform = newMaterial(platformId, 'platform', 'Jar', false);
  platform.fields['vendor'] = 'glass';
  const model: ShopModel = {
    allowNegative: kind.allowNegative,
    defaultLocation: kind.defaultLocation ? shop.locationIds[0] : undefined,
    locations: shop.locationIds,
    materials: new Map([...materials, platform].map((material) => [material.id, material])),
    remembered: new Map(),
    writeKeyId: parseKey(shop.writeKey)?.id ?? '',
    requestIds: [],
  };
  const allowNegative = async (allowed: boolean) => {
    await updateShop(database, shop.shopId, { allowNegativeInventory: allowed });
  };
  return { model, real: { shop, keyed: [], ask, allowNegative } };
}

function newMaterial(id: string, origin: MaterialModel['origin'], productName: string, isBilled: boolean) {
  const texts = ['variantName', 'sku', 'unit', 'vendor', 'specifications', 'imageUrl', 'weightUnitId'];
  const numbers = ['unitCost', 'unitPrice', 'weightValue'];
  const material: MaterialModel = {
    id,
    origin,
    fields: {
      productName,
      ...Object.fromEntries([...texts, ...numbers].map((name) => [name, null])),
      isNonEssentialMaterial: false,
    },
    version: 1,
    levels: new Map(),
    mirrored: origin === 'platform' ? BigInt(platformMicros) : 0n,
    bills: isBilled ? [{ id: 'bom-1', name: 'Candle', quantity: 1.5 }] : [],
    history: [],
    places: new Map(),
  };
  return material;
}

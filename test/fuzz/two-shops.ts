import { v7 as uuidv7 } from 'uuid';
import { createBill } from '../../shared/database/bills.js';
import type { Database } from '../../shared/database/connect.js';
import { createMaterials } from '../../shared/database/create-materials.js';
import { addLocations } from '../../shared/database/locations.js';
import { parseKey } from '../../shared/keys/api-key-format.js';
import { startStandInPlatform } from '../../shared/standalone/stand-in-platform.js';
import { connectPlatform } from '../support/shop/platform.js';
import { createTestShop } from '../support/shop/shop.js';

/** One of two shops whose things have the same names, but texts of their own. */
export interface MarkedShop {
  shopId: number;
  readKey: string;
  writeKey: string;
  /** A word that stands in all of its texts, and that the other shop never sends. */
  mark: string;
  /** What else is its own alone, and must show in no answer to the other. */
  secrets: string[];
  /**
   * The ids of materials that only it has, a virtual one and one of the platform, which has more digits than any quantity.
   */
  ownIds: string[];
  locationIds: string[];
  texts: string[];
  /** Of its last writes. */
  requestIds: string[];
  stopPlatform(): Promise<void>;
}

export const sharedIds = ['VMAT-SHARED-1', 'VMAT-SHARED-2', 'VMAT-SHARED-3'];
export const sharedPlatformId = '8005';
/** Nobody's; as long as those of `ownIds`, so that answers can be compared byte for byte. */
export const nobodysIds = ['VMAT-NOBODY-99', '99005000000000099005'];
const sharedLocations = ['1001', '1002', '1003'];

export interface Mark {
  mark: string;
  ownIds: [virtual: string, platform: string];
  /** Stands among its figures, and is no figure that a generator makes. */
  figure: number;
}

/** A shop with the shared ids, with ids of its own, and with a platform of its own behind the shared platform's id. */
export async function openMarkedShop(database: Database, { mark, ownIds, figure }: Mark): Promise<MarkedShop> {
  const shop = await createTestShop(database, { materialIds: [], locations: 0, defaultLocation: false });
  const { shopId, readKey, writeKey } = shop;
  const ownLocation = `place-${mark}`;
  const locationIds = [...sharedLocations, ownLocation];
  await addLocations(
    database,
    shopId,
    locationIds.map((id) => ({ id, name: `${mark} ${id}` })),
  );
  const texts = [`${mark} a`, `${mark} B`, `7 ${mark}`];
  const fields = {
    variantName: mark,
    sku: mark,
    vendor: `${mark} & Sons`,
    specifications: `by ${mark}`,
    unitPrice: figure,
  };
  await createMaterials(
    database,
    shopId,
    [...sharedIds, sharedPlatformId, ...ownIds].map((id) => ({
      id,
      origin: id.startsWith('VMAT-') ? ('virtual' as const) : ('platform' as const),
      productName: `${mark} ${id.slice(0, 4)}`,
      imageUrl: `https://example.com/${mark}`,
      ...fields,
    })),
  );
  const bill = { id: `bill-${mark}`, kind: 'bill_of_materials', name: `Candle of ${mark}` } as const;
  await createBill(database, shopId, {
    ...bill,
    components: sharedIds.map((materialId) => ({ materialId, quantity: 1 })),
  });
  const platform = await startStandInPlatform({
    locations: locationIds.map((id) => ({ id, name: `${mark} ${id}` })),
    variants: [
      {
        id: sharedPlatformId,
        productTitle: mark,
        title: mark,
        sku: mark,
        vendor: mark,
        unit: 'pcs',
        price: figure,
        cost: figure,
        levels: [{ locationId: '1001', quantity: Math.round(figure * 1e6), updatedAt: '2026-01-05T08:00:00.000Z' }],
      },
    ],
  });
  await connectPlatform(database, shopId, platform.url);
  const keyIds = [readKey, writeKey].map((key) => parseKey(key)?.id ?? uuidv7());
  return {
    shopId,
    readKey,
    writeKey,
    mark,
    secrets: [mark, ...keyIds, String(figure), String(Math.round(figure * 1e6))],
    ownIds,
    locationIds,
    texts,
    requestIds: [],
    stopPlatform: () => platform.stop(),
  };
}

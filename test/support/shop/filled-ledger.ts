import type { Database } from '../../../shared/database/connect.js';
import { createTestShop } from './shop.js';
import type { TestShop } from './shop.js';

/** A shop with a material whose levels have 1 to `entriesMax` entries, in turn. */
export async function createUnequalLevels(
  database: Database,
  { levels, entriesMax }: { levels: number; entriesMax: number },
): Promise<TestShop> {
  const shop = await createTestShop(database, { locations: levels });
  const [materialId = ''] = shop.materialIds;
  await fillLedger(database, shop.shopId, materialId, { entries: entriesMax, startMs: Date.UTC(2026, 0, 1) });
  await database.raw(
    `WITH unequal AS (
       UPDATE levels SET sequence = 1 + CAST(location_id AS integer) % :entriesMax, quantity = 1
       WHERE shop_id = :shopId RETURNING id, sequence
     ),
     shorter AS (
       DELETE FROM ledger g USING unequal WHERE g.level_id = unequal.id AND g.sequence > unequal.sequence
     )
     UPDATE ledger g SET at = at + unequal.id % 30 * interval '3 milliseconds'
     FROM unequal WHERE g.level_id = unequal.id AND g.sequence <= unequal.sequence`,
    { entriesMax, shopId: shop.shopId },
  );
  return shop;
}

/**
 * Gives a material a level at each location of its shop, with entries 10 ms apart, all levels at once, as a single
 * statement; consistent, but booked by nobody.
 */
export async function fillLedger(
  database: Database,
  shopId: number,
  materialId: string,
  { entries, startMs }: { entries: number; startMs: number },
): Promise<void> {
  await database.raw(
    `INSERT INTO levels (shop_id, material_id, location_id, id, quantity, sequence, updated_at)
     SELECT shop_id, ?, id, nextval('levels_id_seq'), ?, ?, now() FROM locations WHERE shop_id = ?`,
    [materialId, entries, entries, shopId],
  );
  await database.raw(
    `INSERT INTO ledger (shop_id, level_id, sequence, op_id, row_index, requested_delta, previous, applied, level_after,
                         clamped, channel, request_id, at)
     SELECT l.shop_id, l.id, n, drawn.id, 0, 1, n - 1, 1, n, false, 'rest', drawn.id,
            to_timestamp(? / 1000.0) + n * interval '10 milliseconds'
     FROM levels l CROSS JOIN generate_series(1, ?::integer) AS n
     CROSS JOIN LATERAL (SELECT md5(l.id || '.' || n)::uuid AS id) AS drawn
     WHERE l.shop_id = ?`,
    [startMs, entries, shopId],
  );
}

import { toDecimal } from '../domain/quantity.js';
import type { Micros } from '../domain/quantity.js';
import type { Database } from './connect.js';
import { runReadCommitted } from './read-committed.js';

export type BillKind = 'bill_of_materials' | 'sub_assembly';

export interface NewBill {
  id: string;
  kind: BillKind;
  name: string;
  components: readonly { materialId: string; quantity: Micros }[];
}

/**
 * Adds a bill of materials or a sub-assembly with its components, in one statement; one whose id is taken is left as it
 * is. Each component locks its material, for the foreign key; the order of materials keeps two bills from deadlocking.
 */
export async function createBill(database: Database, shopId: number, bill: NewBill): Promise<void> {
  await runReadCommitted(
    database,
    `WITH added AS (
       INSERT INTO bills (shop_id, id, kind, name) VALUES (:shopId, :id, :kind, :name)
       ON CONFLICT DO NOTHING RETURNING shop_id, id
     )
     INSERT INTO bill_components (shop_id, material_id, bill_id, quantity)
     SELECT added.shop_id, given.material_id, added.id, given.quantity
     FROM added, unnest(CAST(:materialIds AS text[]), CAST(:quantities AS numeric[])) AS given (material_id, quantity)
     ORDER BY given.material_id`,
    {
      shopId,
      id: bill.id,
      kind: bill.kind,
      name: bill.name,
      materialIds: bill.components.map(({ materialId }) => materialId),
      quantities: bill.components.map(({ quantity }) => toDecimal(quantity)),
    },
  );
}

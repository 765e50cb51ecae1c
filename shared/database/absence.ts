import type { QueryConfig } from 'pg';
import type { MaterialRef } from '../domain/operation.js';
import { integers, texts } from './array-literals.js';
import type { Database } from './connect.js';
import type { Confirmation } from './pipelined-transaction.js';

/**
 * A material that does not exist has no row to lock. So of two workers that hold it, one of them after its lease is
 * lost, one could remember under a client's key that there is no such material, while the other applies another request
 * with that key to the material that was created since. Therefore whoever remembers that a material is missing shares
 * this lock, looks once more, and keeps it until the commit; and an import, which alone creates materials by ids that
 * clients may know before, takes it alone before its own commit. It is of the transaction, so a pooler does not matter.
 */
const lockNumber = 7_224_511_903;

const hold: QueryConfig = {
  name: 'apply-hold-absence',
  text: `SELECT pg_advisory_xact_lock_shared(${lockNumber})`,
};

const present = `
  SELECT 1 FROM unnest($1::int[], $2::text[]) AS wanted (shop_id, material_id) JOIN stock USING (shop_id, material_id)`;

/** Fails, as a conflict that passes when it is run again, where one of these materials has been created. */
export function confirmAbsence(materials: readonly MaterialRef[]): Confirmation {
  const refs = [integers(materials, ({ shopId }) => shopId), texts(materials, ({ materialId }) => materialId)];
  return {
    // A later statement, because one that waited for the lock does not see what was committed meanwhile.
    queries: [hold, { name: 'apply-confirm-absence', text: present, values: refs }],
    judge([, found]) {
      if (found?.rows.length === 0) return;
      throw Object.assign(new Error('a material was created while it was taken for missing'), { code: '40001' });
    },
  };
}

/** Waits for those who are about to remember that a material is missing, and lets no more begin before the commit. */
export async function endAbsence(transaction: Database): Promise<void> {
  await transaction.raw(`SELECT pg_advisory_xact_lock(${lockNumber})`);
}

import type { QueryConfig } from 'pg';
import type { MaterialRef } from '../domain/operation.js';
import { refArrays } from './array-literals.js';
import type { Database } from './connect.js';
import type { Confirmation } from './pipelined-transaction.js';

/**
 * The number of an advisory lock, for materials that do not exist and so have no row to lock. Two workers may hold such
 * a material, one of them after it has lost its lease. Without this lock one of them could record under a client's key
 * that there is no such material, while the other applies a request with the same key to the material, which was
 * created in between. So whoever records that a material is missing takes the lock shared, looks once more, and keeps
 * it until the commit. An import takes it exclusively before its commit; only an import creates materials by ids that
 * clients may know before. It is a lock of the transaction, so it also holds behind a pooler.
 */
const lockNumber = 7_224_511_903;

const sharedLock: QueryConfig = {
  name: 'apply-hold-absence',
  text: `SELECT pg_advisory_xact_lock_shared(${lockNumber})`,
};

const present = `
  SELECT 1 FROM unnest($1::int[], $2::text[]) AS wanted (shop_id, material_id) JOIN stock USING (shop_id, material_id)`;

/**
 * Fails if one of these materials has been created, with a serialisation failure, so that the transaction is run again.
 */
export function confirmAbsence(materials: readonly MaterialRef[]): Confirmation {
  return {
    // Two statements, because one that has waited for the lock does not see what was committed meanwhile.
    queries: [sharedLock, { name: 'apply-confirm-absence', text: present, values: refArrays(materials) }],
    judge([, found]) {
      if (found?.rows.length === 0) return;
      throw Object.assign(new Error('a material was created while it was taken for missing'), { code: '40001' });
    },
  };
}

/** Waits for those that are recording that a material is missing, and keeps others from it until the commit. */
export async function lockAbsence(transaction: Database): Promise<void> {
  await transaction.raw(`SELECT pg_advisory_xact_lock(${lockNumber})`);
}

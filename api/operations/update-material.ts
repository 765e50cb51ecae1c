import { findMaterial } from '../../shared/database/materials.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Material, MaterialChanges } from '../../shared/domain/material.js';
import type { Idempotency } from '../../shared/domain/operation.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { answered, answerToUpdate } from './dispatch-answer.js';
import type { Answered } from './dispatch-answer.js';
import { materialNotFound, refuseToWrite } from './material-address.js';

export interface UpdateMaterialInput {
  variantId: string;
  /** Valid; only what was sent. */
  changes: MaterialChanges;
  idempotency: Idempotency | undefined;
}

/**
 * Changes fields of one virtual material (spec §PATCH /raw-materials/{variantId}) and answers with its state after the
 * commit. Where nothing is to be changed nothing is dispatched: the material is read (contract §2 "Editable fields").
 * Errors: as `adjustInventory`.
 */
export async function updateMaterial(
  { dispatch, database }: Services,
  caller: Caller,
  { variantId, changes, idempotency }: UpdateMaterialInput,
): Promise<Answered<Material>> {
  const refusal = refuseToWrite(variantId);
  if (refusal !== undefined) return answered(refusal);
  const { shop, keyId, requestId, channel } = caller;
  if (Object.keys(changes).length === 0) {
    const unchanged = await findMaterial(database, shop.id, variantId);
    return answered(unchanged === undefined ? materialNotFound : succeed(unchanged));
  }
  const outcome = await dispatch.submit(
    { shopId: shop.id, materialId: variantId },
    { command: { kind: 'update', changes }, channel, keyId, requestId, ...(idempotency && { idempotency }) },
  );
  return answerToUpdate(outcome, { materialId: variantId, requestId, hasKey: idempotency !== undefined });
}

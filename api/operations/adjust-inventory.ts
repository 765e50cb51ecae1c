import type { AdjustmentRow } from '../../shared/domain/adjustment.js';
import type { BatchResult } from '../../shared/domain/batch-result.js';
import type { Idempotency } from '../../shared/domain/operation.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { answered, answerToBatch } from './dispatch-answer.js';
import type { Answered } from './dispatch-answer.js';
import { refuseToWrite } from './material-address.js';

export interface AdjustInventoryInput {
  variantId: string;
  /** Valid, in the order in which they are to run (contract §3.4). */
  rows: AdjustmentRow[];
  idempotency: Idempotency | undefined;
}

/**
 * Adjusts levels of one virtual material (spec §PATCH /raw-materials/{variantId}/inventory, contract §3).
 * Errors: INVALID_INPUT for a platform id, before anything is dispatched; those a batch collapses to; 422, 500, 503 and
 * 504 as the pipeline has it.
 */
export async function adjustInventory(
  { dispatch }: Services,
  caller: Caller,
  { variantId, rows, idempotency }: AdjustInventoryInput,
): Promise<Answered<BatchResult>> {
  const refusal = refuseToWrite(variantId);
  if (refusal !== undefined) return answered(refusal);
  const { shop, keyId, requestId, channel } = caller;
  const outcome = await dispatch.submit(
    { shopId: shop.id, materialId: variantId },
    { command: { kind: 'adjust', rows }, channel, keyId, requestId, ...(idempotency && { idempotency }) },
  );
  return answerToBatch(outcome, { materialId: variantId, requestId, hasKey: idempotency !== undefined });
}

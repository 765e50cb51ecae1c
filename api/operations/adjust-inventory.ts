import { findMaterial } from '../../shared/database/materials.js';
import type { AdjustmentRow } from '../../shared/domain/adjustment.js';
import { batchResult } from '../../shared/domain/batch-result.js';
import type { BatchResult, RowFailure } from '../../shared/domain/batch-result.js';
import type { AdjustCommand, Idempotency } from '../../shared/domain/operation.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { answered, answerToBatch } from './dispatch-answer.js';
import type { Answered } from './dispatch-answer.js';
import { materialNotFound, refuseToWrite } from './material-address.js';
import type { Wording } from './wording.js';

export interface AdjustInventoryInput {
  variantId: string;
  /** Valid, in the order in which they are to run (contract §3.4). */
  rows: AdjustmentRow[];
  /** Rows of the request that are not among `rows`, by their index there: they become row results (contract §3.2). */
  malformed?: readonly RowFailure[];
  /** Whether the result says what each row did (contract §7 `return=representation`). */
  detailed?: boolean;
  /** Whether to answer what would happen, and apply nothing (contract §7). */
  dryRun?: boolean;
  idempotency: Idempotency | undefined;
  wording: Wording;
}

/**
 * Adjusts levels of one virtual material (spec §PATCH /raw-materials/{variantId}/inventory, contract §3).
 * Errors: INVALID_INPUT for a platform id, before anything is dispatched; those a batch collapses to; 422, 500, 503 and
 * 504 as the pipeline has it.
 */
export async function adjustInventory(
  { dispatch, reads }: Services,
  caller: Caller,
  input: AdjustInventoryInput,
): Promise<Answered<BatchResult>> {
  const { variantId, rows, malformed = [], dryRun = false, idempotency, wording } = input;
  const refusal = refuseToWrite(variantId);
  if (refusal !== undefined) return answered(refusal);
  const { shop, keyId, requestId, channel } = caller;
  if (rows.length === 0) {
    // Without a valid row there is nothing to dispatch and, as with any malformed request, nothing to remember. A
    // missing material goes before any fault of the rows (contract §3.6); otherwise the worker sees to that.
    const found = await reads.ask(shop.id, (database) => findMaterial(database, shop.id, variantId));
    if (!found.ok) return answered(found);
    if (found.data === undefined) return answered(materialNotFound);
    return answered(batchResult(variantId, malformed.length, [...malformed]));
  }
  const outcome = await dispatch.submit(
    { shopId: shop.id, materialId: variantId },
    { command: toCommand(input), channel, keyId, requestId, idempotency },
  );
  const hasKey = idempotency !== undefined;
  const asked = { materialId: variantId, requestId, hasKey, fieldsOnly: false, dryRun, wording };
  return answerToBatch(outcome, asked, malformed);
}

/** Only what was asked for is there, so that the plain batch stays as small in the queue as it can be. */
function toCommand({ rows, malformed = [], detailed, dryRun }: AdjustInventoryInput): AdjustCommand {
  const command: AdjustCommand = { kind: 'adjust', rows };
  if (malformed.length > 0) command.rowIndexes = indexesOf(rows.length, malformed);
  if (detailed === true) command.detailed = true;
  if (dryRun === true) command.dryRun = true;
  return command;
}

/** The places in the request that the malformed rows leave to the others. */
function indexesOf(count: number, malformed: readonly RowFailure[]): number[] {
  const taken = new Set(malformed.map(({ index }) => index));
  return Array.from({ length: count + malformed.length }, (_, index) => index).filter((index) => !taken.has(index));
}

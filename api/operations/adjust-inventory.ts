import { findMaterial } from '../../shared/database/materials.js';
import type { AdjustmentRow } from '../../shared/domain/adjustment.js';
import { batchResult } from '../../shared/domain/batch-result.js';
import type { BatchResult, RowFailure } from '../../shared/domain/batch-result.js';
import type { AdjustCommand, Idempotency } from '../../shared/domain/operation.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { answered, answerToBatch } from './dispatch-answer.js';
import type { Answered } from './dispatch-answer.js';
import { materialNotFound, refuseToWrite } from './material-refusals.js';
import type { Wording } from './wording.js';

export interface AdjustInventoryInput {
  variantId: string;
  /** Valid, in the order in which they are to run (contract §3.4). */
  rows: AdjustmentRow[];
  /**
   * Malformed rows of the request, each with its index there: they are results like those of `rows` (contract §3.2).
   */
  malformed?: readonly RowFailure[];
  /** Whether the result says what each row did (contract §7 `return=representation`). */
  detailed: boolean;
  /** Whether to answer what would happen, and apply nothing (contract §7). */
  dryRun: boolean;
  idempotency: Idempotency | undefined;
  wording: Wording;
}

/**
 * Adjusts levels of one virtual material (spec §PATCH /raw-materials/{variantId}/inventory, contract §3). Errors:
 * INVALID_INPUT and NOT_FOUND for the id, before anything is dispatched; the code of all rows, if they failed alike;
 * IDEMPOTENCY_KEY_REUSED, INTERNAL_ERROR, SERVICE_UNAVAILABLE and OUTCOME_UNKNOWN, as the dispatch has it.
 */
export async function adjustInventory(
  { dispatch, reads }: Services,
  caller: Caller,
  input: AdjustInventoryInput,
): Promise<Answered<BatchResult>> {
  const { variantId, rows, malformed = [], dryRun, idempotency, wording } = input;
  const refusal = refuseToWrite(variantId);
  if (refusal !== undefined) return answered(refusal);
  const { shop, keyId, requestId, channel } = caller;
  if (rows.length === 0) {
    // Without a valid row nothing is dispatched and, as with any malformed request, nothing is remembered. A missing
    // material comes before any fault of the rows (contract §3.6), and here no worker finds that out.
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

/** Has a field for what was asked for only, so that a plain batch is as small as possible in the queue. */
function toCommand({ rows, malformed = [], detailed, dryRun }: AdjustInventoryInput): AdjustCommand {
  const command: AdjustCommand = { kind: 'adjust', rows };
  if (malformed.length > 0) command.rowIndexes = indexesOf(rows.length, malformed);
  if (detailed) command.detailed = true;
  if (dryRun) command.dryRun = true;
  return command;
}

/** For each valid row its index in the request: those that are left beside the malformed ones. */
function indexesOf(count: number, malformed: readonly RowFailure[]): number[] {
  const taken = new Set(malformed.map(({ index }) => index));
  return Array.from({ length: count + malformed.length }, (_, index) => index).filter((index) => !taken.has(index));
}

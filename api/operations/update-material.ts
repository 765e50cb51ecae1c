import { findVersionedMaterial } from '../../shared/database/materials.js';
import { fail, succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { MaterialChanges, VersionedMaterial } from '../../shared/domain/material.js';
import type { Idempotency, UpdateCommand } from '../../shared/domain/operation.js';
import { failedPrecondition } from '../../shared/domain/precondition.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { answered, answerToUpdate } from './dispatch-answer.js';
import type { Answered } from './dispatch-answer.js';
import { materialNotFound, refuseToWrite } from './material-refusals.js';
import type { Wording } from './wording.js';

export interface UpdateMaterialInput {
  variantId: string;
  /** Valid; only the fields that were sent. */
  changes: MaterialChanges;
  /** Change only while the version of the fields is one of these (contract §7 `If-Match`); undefined for any. */
  ifVersions?: number[] | undefined;
  idempotency: Idempotency | undefined;
  wording: Wording;
}

/**
 * Changes fields of one virtual material (spec §PATCH /raw-materials/{variantId}) and answers with its state after the
 * commit. With neither a change nor a key, nothing is dispatched and the material is only read (contract §2 "Editable
 * fields"). With a key alone it is dispatched: the worker looks the key up, and remembers the answer (contract §7).
 * Errors: as `adjustInventory`, and PRECONDITION_FAILED.
 */
export async function updateMaterial(
  services: Services,
  caller: Caller,
  { variantId, changes, ifVersions, idempotency, wording }: UpdateMaterialInput,
): Promise<Answered<VersionedMaterial>> {
  const refusal = refuseToWrite(variantId);
  if (refusal !== undefined) return answered(refusal);
  const { shop, keyId, requestId, channel } = caller;
  if (Object.keys(changes).length === 0 && idempotency === undefined) {
    return answered(await readUnchanged(services, caller, variantId, ifVersions));
  }
  const command: UpdateCommand = { kind: 'update', changes, ...(ifVersions && { ifVersions }) };
  const outcome = await services.dispatch.submit(
    { shopId: shop.id, materialId: variantId },
    { command, channel, keyId, requestId, idempotency },
  );
  return answerToUpdate(outcome, {
    materialId: variantId,
    requestId,
    hasKey: idempotency !== undefined,
    fieldsOnly: changes.inventoryQuantity === undefined,
    dryRun: false,
    wording,
  });
}

async function readUnchanged(
  { reads }: Services,
  { shop }: Caller,
  variantId: string,
  ifVersions: number[] | undefined,
): Promise<Result<VersionedMaterial>> {
  const found = await reads.ask(shop.id, (database) => findVersionedMaterial(database, shop.id, variantId));
  if (!found.ok) return found;
  if (found.data === undefined) return materialNotFound;
  const stale = failedPrecondition(found.data.version, ifVersions);
  return stale === undefined ? succeed(found.data) : fail('PRECONDITION_FAILED', stale);
}

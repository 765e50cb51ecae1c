import { refuseAt } from '../../shared/contract/faults.js';
import { fail } from '../../shared/domain/errors.js';
import type { Refusal } from '../../shared/domain/errors.js';
import { materialIdKind, noSuchMaterial } from '../../shared/domain/material-id.js';

export const materialNotFound: Refusal = fail('NOT_FOUND', noSuchMaterial);

/** Why a material of this id cannot be read, before any look-up (contract §1); undefined for an id that may exist. */
export function refuseToRead(variantId: string): Refusal | undefined {
  switch (materialIdKind(variantId)) {
    case 'platform':
    case 'virtual':
      return undefined;
    case 'unknown':
      return materialNotFound;
    case 'invalid':
      return invalidId;
  }
}

/**
 * Why a material of this id cannot be changed, before anything is dispatched (spec §PATCH, rules 3 and 1); undefined
 * for the id of a virtual one, which may exist.
 */
export function refuseToWrite(variantId: string): Refusal | undefined {
  return materialIdKind(variantId) === 'platform' ? platformManaged : refuseToRead(variantId);
}

const platformManaged = refuseAt(
  'variantId',
  'This material is managed by the commerce platform; only virtual materials (VMAT-…) can be changed here.',
);

/** For any text that is no id at all; `gid://…` is one of them. */
export const invalidId: Refusal = refuseAt(
  'variantId',
  'The variantId is neither the digits of a platform variant nor the id of a virtual material (VMAT-…). Global ids (gid://…) are not taken.',
);

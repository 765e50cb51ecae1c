import { fail } from '../../shared/domain/errors.js';
import type { Refusal } from '../../shared/domain/errors.js';
import { materialIdKind, noSuchMaterial } from '../../shared/domain/material-id.js';

export const materialNotFound: Refusal = fail('NOT_FOUND', noSuchMaterial);

/** What a read refuses about an id before any look-up (contract §1); undefined for one that may exist. */
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
 * What a write refuses about an id before anything is dispatched (spec §PATCH, rules 3 and 1); undefined for a virtual
 * one.
 */
export function refuseToWrite(variantId: string): Refusal | undefined {
  return materialIdKind(variantId) === 'platform' ? platformManaged : refuseToRead(variantId);
}

const platformManaged = refuseId(
  'This material is managed by the commerce platform; only virtual materials (VMAT-…) can be changed here.',
);

/** For any form that is no id at all, `gid://…` included. */
export const invalidId: Refusal = refuseId(
  'The variantId is neither the digits of a platform variant nor the id of a virtual material (VMAT-…). Global ids (gid://…) are not taken.',
);

function refuseId(message: string): Refusal {
  return fail('INVALID_INPUT', message, { details: [{ path: 'variantId', message }] });
}

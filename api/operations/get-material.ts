import type { ConnectedMaterialBody, MaterialBody } from '../../shared/contract/material.js';
import { findConnections, findVersionedMaterial } from '../../shared/database/materials.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { materialNotFound, refuseToRead } from './material-refusals.js';

export interface GetMaterialInput {
  variantId: string;
  includeConnections: boolean;
}

export interface FoundMaterial {
  material: MaterialBody | ConnectedMaterialBody;
  /** Of its fields; not part of what is shown (contract §7 `ETag`). */
  version: number;
}

/**
 * One material of either origin, from our own tables (contract §1).
 * Errors: INVALID_INPUT, NOT_FOUND, SERVICE_UNAVAILABLE (`Reads.ask`).
 */
export async function getMaterial(
  { reads }: Services,
  { shop }: Caller,
  { variantId, includeConnections }: GetMaterialInput,
): Promise<Result<FoundMaterial>> {
  const refusal = refuseToRead(variantId);
  if (refusal !== undefined) return refusal;
  const found = await reads.ask(shop.id, async (database) => {
    const versioned = await findVersionedMaterial(database, shop.id, variantId);
    if (versioned === undefined || !includeConnections) return versioned;
    const connections = await findConnections(database, shop.id, variantId);
    const { billOfMaterials, subAssemblies } = connections;
    // Counted anew, since a bill may have come between the two statements.
    const usage = { billOfMaterials: billOfMaterials.length, subAssemblies: subAssemblies.length };
    return { material: { ...versioned.material, usage, connections }, version: versioned.version };
  });
  if (!found.ok) return found;
  return found.data === undefined ? materialNotFound : succeed(found.data);
}

import type { ConnectedMaterialBody, MaterialBody } from '../../shared/contract/material.js';
import { findConnections, findMaterial } from '../../shared/database/materials.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { materialNotFound, refuseToRead } from './material-address.js';

export interface GetMaterialInput {
  variantId: string;
  includeConnections: boolean;
}

/** One material of either origin, from our own tables (contract §1). Errors: INVALID_INPUT, NOT_FOUND. */
export async function getMaterial(
  { database }: Services,
  { shop }: Caller,
  { variantId, includeConnections }: GetMaterialInput,
): Promise<Result<MaterialBody | ConnectedMaterialBody>> {
  const refusal = refuseToRead(variantId);
  if (refusal !== undefined) return refusal;
  const material = await findMaterial(database, shop.id, variantId);
  if (material === undefined) return materialNotFound;
  if (!includeConnections) return succeed(material);
  return succeed({ ...material, connections: await findConnections(database, shop.id, variantId) });
}

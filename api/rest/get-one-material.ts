import { readMaterialQuery } from '../../shared/contract/read-query.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { getMaterial } from '../operations/get-material.js';
import type { Services } from '../services.js';
import { materialReply } from './material-reply.js';

/** GET /v1/raw-materials/{variantId} */
export async function getOneMaterial(services: Services, { caller, variantId, query }: RouteRequest): Promise<Reply> {
  const read = readMaterialQuery(query);
  if (!read.ok) return { result: read };
  const { includeConnections = false } = read.data;
  return materialReply(await getMaterial(services, caller, { variantId, includeConnections }));
}

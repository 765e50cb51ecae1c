import { readInventoryQuery } from '../../shared/contract/read-query.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { readLevels } from '../operations/read-levels.js';
import type { Services } from '../services.js';

/** GET /v1/raw-materials/{variantId}/inventory */
export async function getInventory(services: Services, { caller, variantId, query }: RouteRequest): Promise<Reply> {
  const read = readInventoryQuery(query);
  if (!read.ok) return { result: read };
  return { result: await readLevels(services, caller, { variantId, locationIds: read.data.locationIds }) };
}

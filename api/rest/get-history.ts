import { readHistoryQuery } from '../../shared/contract/read-query.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { readHistory } from '../operations/read-history.js';
import type { Services } from '../services.js';

/** GET /v1/raw-materials/{variantId}/inventory/history */
export async function getHistory(services: Services, { caller, variantId, query }: RouteRequest): Promise<Reply> {
  const read = readHistoryQuery(query);
  if (!read.ok) return { result: read };
  return { result: await readHistory(services, caller, { variantId, query: read.data }) };
}

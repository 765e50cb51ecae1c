import { readInventoryBatch } from '../../shared/contract/read-inventory-batch.js';
import { refuseQuery } from '../../shared/contract/read-query.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { adjustInventory } from '../operations/adjust-inventory.js';
import type { Services } from '../services.js';
import { changeReply } from './change-reply.js';
import { readIdempotency } from './idempotency.js';

/** PATCH /v1/raw-materials/{variantId}/inventory */
export async function patchInventory(services: Services, request: RouteRequest): Promise<Reply> {
  const { caller, params, query, body } = request;
  const { variantId = '' } = params;
  const refusal = refuseQuery(query);
  if (!refusal.ok) return { result: refusal };
  const idempotency = readIdempotency(request);
  if (!idempotency.ok) return { result: idempotency };
  const rows = readInventoryBatch(body, variantId);
  if (!rows.ok) return { result: rows };
  return changeReply(
    await adjustInventory(services, caller, { variantId, rows: rows.data, idempotency: idempotency.data }),
  );
}

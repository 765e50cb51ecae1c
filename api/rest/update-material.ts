import { readMaterialChanges } from '../../shared/contract/read-material-changes.js';
import { refuseQuery } from '../../shared/contract/read-query.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { updateMaterial } from '../operations/update-material.js';
import type { Services } from '../services.js';
import { changeReply } from './change-reply.js';
import { readIdempotency } from './idempotency.js';

/** PATCH /v1/raw-materials/{variantId} */
export async function patchMaterial(services: Services, request: RouteRequest): Promise<Reply> {
  const { caller, params, query, body } = request;
  const { variantId = '' } = params;
  const refusal = refuseQuery(query);
  if (!refusal.ok) return { result: refusal };
  const idempotency = readIdempotency(request);
  if (!idempotency.ok) return { result: idempotency };
  const changes = readMaterialChanges(body);
  if (!changes.ok) return { result: changes };
  return changeReply(
    await updateMaterial(services, caller, { variantId, changes: changes.data, idempotency: idempotency.data }),
  );
}

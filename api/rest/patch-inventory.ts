import { readInventoryBatch, readLenientBatch } from '../../shared/contract/read-inventory-batch.js';
import type { LenientBatch } from '../../shared/contract/read-inventory-batch.js';
import { readBatchQuery } from '../../shared/contract/read-query.js';
import type { Result } from '../../shared/domain/errors.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { adjustInventory } from '../operations/adjust-inventory.js';
import type { Services } from '../services.js';
import { changeReply } from './change-reply.js';
import { readIdempotency } from './read-idempotency.js';
import { preferenceApplied, readPreferences } from './preferences.js';
import { restWording } from './wording.js';

/** PATCH /v1/raw-materials/{variantId}/inventory */
export async function patchInventory(services: Services, request: RouteRequest): Promise<Reply> {
  const { caller, variantId, query, body, headers } = request;
  const asked = readBatchQuery(query);
  if (!asked.ok) return { result: asked };
  const idempotency = readIdempotency(request);
  if (!idempotency.ok) return { result: idempotency };
  const preferences = readPreferences(headers['prefer']);
  const batch = readBatch(body, variantId, preferences.lenient);
  if (!batch.ok) return { result: batch };
  const { result, replayed } = await adjustInventory(services, caller, {
    variantId,
    ...batch.data,
    detailed: preferences.detailed,
    dryRun: asked.data.dryRun ?? false,
    idempotency: idempotency.data,
    wording: restWording,
  });
  // Not on an error: it shows no rows, and if all rows failed alike, being lenient made no difference.
  const applied = result.ok ? preferenceApplied(preferences) : undefined;
  return changeReply({ result, ...(applied && { headers: { 'Preference-Applied': applied } }) }, replayed);
}

function readBatch(body: unknown, variantId: string, lenient: boolean): Result<LenientBatch> {
  if (lenient) return readLenientBatch(body, variantId);
  const rows = readInventoryBatch(body, variantId);
  return rows.ok ? succeed({ rows: rows.data, malformed: [] }) : rows;
}

import { readMaterialChanges } from '../../shared/contract/read-material-changes.js';
import { refuseQuery } from '../../shared/contract/read-query.js';
import type { Result } from '../../shared/domain/errors.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { updateMaterial } from '../operations/update-material.js';
import type { Services } from '../services.js';
import { changeReply } from './change-reply.js';
import { explainChangedTag, readIfMatch } from './entity-tag.js';
import { readIdempotency } from './read-idempotency.js';
import { materialReply } from './material-reply.js';
import { restWording } from './wording.js';

/** PATCH /v1/raw-materials/{variantId} */
export async function patchMaterial(services: Services, request: RouteRequest): Promise<Reply> {
  const { caller, variantId, query, body, headers } = request;
  const refusal = refuseQuery(query);
  if (refusal !== undefined) return { result: refusal };
  const idempotency = readIdempotency(request);
  if (!idempotency.ok) return { result: idempotency };
  const ifVersions = readIfMatch(headers['if-match']);
  if (!ifVersions.ok) return { result: ifVersions };
  const changes = readMaterialChanges(body);
  if (!changes.ok) return { result: changes };
  const { result, replayed } = await updateMaterial(services, caller, {
    variantId,
    changes: changes.data,
    ifVersions: ifVersions.data,
    idempotency: idempotency.data,
    wording: restWording,
  });
  return changeReply(materialReply(explained(result, headers['if-match'])), replayed);
}

/** The result, where a 412 also says that a proxy may have changed the tag. */
function explained<T>(result: Result<T>, ifMatch: string | undefined): Result<T> {
  if (result.ok || result.error.code !== 'PRECONDITION_FAILED') return result;
  const cause = explainChangedTag(ifMatch);
  if (cause === undefined) return result;
  return { ok: false, error: { ...result.error, message: `${result.error.message} ${cause}` } };
}

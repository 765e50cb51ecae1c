import { succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { Reply } from '../http/request-state.js';
import { entityTag } from './entity-tag.js';

/** The reply that shows one material, with the version of its fields as its ETag (contract §7). */
export function materialReply(result: Result<{ material: unknown; version: number }>): Reply {
  if (!result.ok) return { result };
  const { material, version } = result.data;
  return { result: succeed(material), headers: { ETag: entityTag(version) } };
}

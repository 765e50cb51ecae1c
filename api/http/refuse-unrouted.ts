import { fail } from '../../shared/domain/errors.js';
import type { RefusalReply } from './request-state.js';

/**
 * 405 with the methods of the path in `Allow`, or 404 (contract §1 "Methods").
 *
 * @param allow the methods of the path; undefined for a path that is not there
 */
export function refuseUnrouted(allow: string | undefined): RefusalReply {
  if (allow === undefined) return { result: fail('NOT_FOUND', 'There is nothing at this path.') };
  const result = fail('METHOD_NOT_ALLOWED', `This path answers to ${allow} only.`);
  return { result, headers: { Allow: allow } };
}

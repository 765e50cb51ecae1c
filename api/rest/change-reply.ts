import type { Reply } from '../http/request-state.js';
import type { Answered } from '../operations/dispatch-answer.js';

/** The reply to a write: a remembered answer says that it is one (contract §7). */
export function changeReply({ result, replayed }: Answered<unknown>): Reply {
  return replayed ? { result, headers: { 'Idempotency-Replayed': 'true' } } : { result };
}

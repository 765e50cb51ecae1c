import type { Reply } from '../http/request-state.js';

/** The reply to a write: a remembered answer says that it is one (contract §7). */
export function changeReply(reply: Reply, replayed: boolean): Reply {
  return replayed ? { ...reply, headers: { ...reply.headers, 'Idempotency-Replayed': 'true' } } : reply;
}

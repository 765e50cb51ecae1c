import type { Reply } from '../http/request-state.js';

/** The reply to a write, with a header that says so if it is a remembered answer (contract §7). */
export function changeReply(reply: Reply, replayed: boolean): Reply {
  return replayed ? { ...reply, headers: { ...reply.headers, 'Idempotency-Replayed': 'true' } } : reply;
}

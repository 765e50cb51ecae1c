import { encodeReplies } from '../shared/queue/job-format.js';
import type { Replies, Reply } from '../shared/queue/job-format.js';
import { replyChannel } from '../shared/queue/names.js';
import type { Batch } from '../shared/redis/batch.js';
import type { Job } from './read-jobs.js';

/**
 * Adds to a batch one message for each API process that has a waiter for these jobs (pipeline §2.7). If a message is
 * lost, its waiters wait a second longer, until a look-up finds their outcomes in Postgres.
 */
export function publishRepliesIn(batch: Batch, jobs: Job[], outcomes: Map<string, Reply>): void {
  const byReceiver = new Map<string, Replies>();
  for (const { content } of jobs) {
    if (content === undefined) continue;
    const replies = byReceiver.get(content.replyTo) ?? [];
    byReceiver.set(content.replyTo, replies);
    for (const { id } of content.operations) {
      const outcome = outcomes.get(id);
      if (outcome !== undefined) replies.push([id, outcome]);
    }
  }
  for (const [receiver, replies] of byReceiver) {
    // Of a material that was left out.
    if (replies.length === 0) continue;
    const message = encodeReplies(replies);
    batch.add((redis) => redis.publish(replyChannel(receiver), message));
  }
}

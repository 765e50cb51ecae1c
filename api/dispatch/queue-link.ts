import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { decodeReplies } from '../../shared/queue/job-format.js';
import type { Replies } from '../../shared/queue/job-format.js';
import { createMaterialQueues } from '../../shared/queue/material-queues.js';
import type { MaterialQueues } from '../../shared/queue/material-queues.js';
import { replyChannel } from '../../shared/queue/names.js';
import { defineScripts } from '../../shared/queue/run-script.js';
import { createTransaction } from '../../shared/redis/batch.js';
import type { Transaction } from '../../shared/redis/batch.js';
import { connectProducerRedis, connectRepliesRedis, onAllReady, untilReady } from '../../shared/redis/connections.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { logRecurring } from '../../shared/runtime/recurring-fault.js';
import type { RecurringFault } from '../../shared/runtime/recurring-fault.js';

/** The connections of an API process to the queues: one adds jobs, the other hears replies. */
export interface QueueLink {
  /** The connection that adds jobs. */
  redis: Redis;
  queues: MaterialQueues;
  /** Begins a transaction on the connection that adds jobs. */
  transaction: () => Transaction;
  /** The name of this API process, to which workers send replies. */
  apiId: string;
  /** Told how each enqueue went: Redis may refuse only this, and allow everything else. */
  enqueuing: RecurringFault;
  /** Calls the listener with outcomes of this process's operations, those of one cycle of a worker together. */
  onReplies: (listener: (replies: Replies) => void) => void;
  /** Whether each connection can be used now. */
  connected: () => { producer: boolean; replies: boolean };
  close: () => void;
}

const keepAliveMs = 1_000;

/** @throws where Redis does not answer within five seconds */
export async function openQueueLink(redisUrl: string, logger: Logger): Promise<QueueLink> {
  // BullMQ tells of each failed try, twice a second, beside the connection itself.
  const reaching = logRecurring(logger, 'The queue cannot reach Redis.');
  const apiId = randomUUID();
  const redis = connectProducerRedis(redisUrl, reaching.failed);
  const replies = connectRepliesRedis(redisUrl, reaching.failed);
  onAllReady([redis, replies], reaching.passed);
  await Promise.all([untilReady(redis), untilReady(replies)]);
  defineScripts(redis);
  const queues = await createMaterialQueues(redis, reaching.failed);
  const listening = await keepListening(replies, replyChannel(apiId), logger);

  return {
    redis,
    queues,
    transaction: () => createTransaction(redis),
    apiId,
    enqueuing: logRecurring(logger, 'Jobs could not be queued.'),
    onReplies(listener) {
      replies.on('message', (_channel: string, message: string) => listener(decodeReplies(message)));
    },
    connected: () => ({ producer: redis.status === 'ready', replies: listening.isHeard() }),
    close() {
      listening.stop();
      redis.disconnect();
      replies.disconnect();
    },
  };
}

/**
 * Subscribes again on each new connection. Without replies the service is only slower: each outcome is looked up in
 * Postgres after a second.
 */
async function keepListening(replies: Redis, channel: string, logger: Logger) {
  const subscribing = logRecurring(logger, 'Replies are not heard, so outcomes are looked up.');
  let isHeard = false;

  async function subscribe(): Promise<void> {
    try {
      await replies.subscribe(channel);
      isHeard = true;
      subscribing.passed();
    } catch (error) {
      subscribing.failed(error);
    }
  }

  const onReady = () => void subscribe();
  const onClose = () => (isHeard = false);
  const keepAlive = setInterval(() => {
    if (replies.status !== 'ready') return;
    // A subscriber sends nothing else, so only a ping finds out that its other end is gone.
    if (isHeard) replies.ping().catch(() => undefined);
    else void subscribe();
  }, keepAliveMs);
  replies.on('ready', onReady).on('close', onClose);
  await subscribe();
  return {
    isHeard: () => isHeard,
    stop() {
      clearInterval(keepAlive);
      replies.off('ready', onReady).off('close', onClose);
    },
  };
}

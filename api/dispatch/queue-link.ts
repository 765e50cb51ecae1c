import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { OperationOutcome } from '../../shared/domain/operation.js';
import { decodeReplies } from '../../shared/queue/job-format.js';
import { createMaterialQueues } from '../../shared/queue/material-queues.js';
import type { MaterialQueues } from '../../shared/queue/material-queues.js';
import { replyChannel } from '../../shared/queue/names.js';
import { defineScripts } from '../../shared/queue/run-script.js';
import { connectProducerRedis, connectRepliesRedis, untilReady } from '../../shared/redis/connections.js';
import type { Logger } from '../../shared/runtime/logger.js';

/** The two connections of an API process to the pipeline: one on which it adds jobs, one on which it hears replies. */
export interface QueueLink {
  redis: Redis;
  queues: MaterialQueues;
  /** This API process, as the workers address it. */
  apiId: string;
  /** From now on the outcomes of this process's operations are told, each as it comes. */
  onReply: (listener: (operationId: string, outcome: OperationOutcome) => void) => void;
  /** Whether each connection can be used now. */
  connected: () => { producer: boolean; replies: boolean };
  close: () => void;
}

const keepAliveMs = 1_000;

/** @throws where Redis does not answer within five seconds */
export async function openQueueLink(redisUrl: string, logger: Logger): Promise<QueueLink> {
  const onError = (error: Error) => {
    logger.warn({ err: error }, 'redis');
  };
  const apiId = randomUUID();
  const redis = connectProducerRedis(redisUrl, onError);
  const replies = connectRepliesRedis(redisUrl, onError);
  await Promise.all([untilReady(redis), untilReady(replies)]);
  defineScripts(redis);
  const queues = await createMaterialQueues(redis, onError);
  await replies.subscribe(replyChannel(apiId));

  // A subscription owes nobody an answer, so only a ping finds out that its connection is half open.
  const keepAlive = setInterval(() => {
    if (replies.status === 'ready') replies.ping().catch(() => undefined);
  }, keepAliveMs);

  return {
    redis,
    queues,
    apiId,
    onReply(listener) {
      replies.on('message', (_channel: string, message: string) => {
        for (const [id, outcome] of decodeReplies(message)) listener(id, outcome);
      });
    },
    connected: () => ({ producer: redis.status === 'ready', replies: replies.status === 'ready' }),
    close() {
      clearInterval(keepAlive);
      redis.disconnect();
      replies.disconnect();
    },
  };
}

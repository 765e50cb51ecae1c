import { randomUUID } from 'node:crypto';
import type { Database } from '../../shared/database/connect.js';
import type {
  Channel,
  Command,
  Idempotency,
  MaterialRef,
  Operation,
  OperationOutcome,
} from '../../shared/domain/operation.js';
import { decodeReplies } from '../../shared/queue/job-format.js';
import { createMaterialQueues } from '../../shared/queue/material-queues.js';
import { replyChannel } from '../../shared/queue/names.js';
import { defineScripts } from '../../shared/queue/run-script.js';
import { connectProducerRedis, connectRepliesRedis, untilReady } from '../../shared/redis/connections.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { createAdmission } from './admission.js';
import { createCombiner } from './combine.js';
import type { DispatchOutcome } from './dispatch-outcome.js';
import { enqueue } from './enqueue.js';
import { lookUpEveryMs, startFollowUp } from './follow-up.js';
import type { FollowUp } from './follow-up.js';
import { startHealth } from './health.js';
import type { DispatchSettings } from './settings.js';
import { answerOf } from './waiter.js';
import type { Waiter } from './waiter.js';

export interface DispatchRequest {
  command: Command;
  channel: Channel;
  keyId: string | null;
  /** A UUIDv7, fresh for each attempt; it is also the operation's id. */
  requestId: string;
  idempotency?: Idempotency;
}

/** The API's half of the pipeline: a request goes in, and what certainly became of it comes out. */
export interface Dispatch {
  /** Never rejects; answers within the wait and its grace. */
  submit(ref: MaterialRef, request: DispatchRequest): Promise<DispatchOutcome>;
  /** What of the pipeline answers now. */
  ready(): { postgres: boolean; redis: boolean; worker: boolean };
  /** Waits for the outcomes of what is in flight, then closes its connections. */
  close(): Promise<void>;
}

export interface DispatchDeps {
  redisUrl: string;
  database: Database;
  logger: Logger;
  settings: DispatchSettings;
}

/** @throws where Redis does not answer within five seconds */
export async function createDispatch({ redisUrl, database, logger, settings }: DispatchDeps): Promise<Dispatch> {
  const onError = (error: Error) => {
    logger.warn({ err: error }, 'redis');
  };
  const apiId = randomUUID();
  const redis = connectProducerRedis(redisUrl, onError);
  const replies = connectRepliesRedis(redisUrl, onError);
  await Promise.all([untilReady(redis), untilReady(replies)]);
  defineScripts(redis);
  const queues = await createMaterialQueues(redis, onError);
  const health = await startHealth(redis, database);
  const admission = createAdmission(settings, health);
  const queueDeps = { redis, queues, apiId };

  const waiters = new Map<string, Waiter>();
  let whenIdle: (() => void) | undefined;
  function settle(waiter: Waiter, outcome: DispatchOutcome): void {
    if (!waiters.delete(waiter.operation.id)) return;
    admission.leave(waiter);
    waiter.resolve(outcome);
    combiner.leave(waiter);
    if (waiters.size === 0) whenIdle?.();
  }

  const combiner = createCombiner({
    send: (job) => enqueue(queueDeps, job),
    settle,
    giveUp: (open) => {
      followUp.giveUp(open);
    },
  });
  const followUp: FollowUp = startFollowUp({ ...queueDeps, database, logger, waiters, settle });

  await replies.subscribe(replyChannel(apiId));
  replies.on('message', (_channel: string, message: string) => {
    for (const [id, outcome] of decodeReplies<OperationOutcome>(message)) {
      const waiter = waiters.get(id);
      if (waiter !== undefined) settle(waiter, answerOf(outcome));
    }
  });
  const keepAlive = startKeepAlive(replies);

  return {
    submit(ref, request) {
      const admitted = admission.admit(ref.shopId, request.command);
      if (!admitted.ok) return Promise.resolve(admitted.refused);
      const nowMs = performance.now();
      return new Promise((resolve) => {
        const waiter: Waiter = {
          ref,
          operation: toOperation(request, health.redisNowMs()),
          rowCount: admitted.rowCount,
          bytes: admitted.bytes,
          deadlineMs: nowMs + settings.WAIT_MS,
          nextLookUpMs: nowMs + lookUpEveryMs,
          job: undefined,
          isGivenUp: false,
          resolve,
        };
        waiters.set(waiter.operation.id, waiter);
        combiner.add(waiter);
      });
    },
    ready: () => health.parts(),
    async close() {
      admission.close();
      if (waiters.size > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
      clearInterval(keepAlive);
      followUp.stop();
      health.stop();
      redis.disconnect();
      replies.disconnect();
    },
  };
}

function toOperation(
  { requestId, command, channel, keyId, idempotency }: DispatchRequest,
  acceptedAtMs: number,
): Operation {
  const operation: Operation = { id: requestId, command, acceptedAtMs, channel, keyId, requestId };
  return idempotency === undefined ? operation : { ...operation, idempotency };
}

const keepAliveMs = 1_000;

/** A subscription owes nobody an answer, so only a ping finds out that its connection is half open. */
function startKeepAlive(replies: ReturnType<typeof connectRepliesRedis>): NodeJS.Timeout {
  return setInterval(() => {
    if (replies.status === 'ready') replies.ping().catch(() => undefined);
  }, keepAliveMs);
}

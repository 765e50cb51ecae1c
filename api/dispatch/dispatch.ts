import type { Database } from '../../shared/database/connect.js';
import { createStorageQuestion } from '../../shared/database/takes-writes.js';
import type { Channel, Command, Idempotency, MaterialRef, Operation } from '../../shared/domain/operation.js';
import type { Logger } from '../../shared/runtime/logger.js';
import { createSlotMap } from '../../shared/runtime/slot-map.js';
import { createAdmission } from './admission.js';
import { createCombiner } from './combine.js';
import type { DispatchMetrics, DispatchState } from './dispatch-metrics.js';
import { toDispatchOutcome } from './dispatch-outcome.js';
import type { DispatchOutcome } from './dispatch-outcome.js';
import { enqueueJobs } from './enqueue.js';
import { lookUpEveryMs, startFollowUp } from './follow-up.js';
import type { FollowUp } from './follow-up.js';
import { startHealth } from './health.js';
import type { Health } from './health.js';
import { openQueueLink } from './queue-link.js';
import type { QueueLink } from './queue-link.js';
import type { DispatchSettings } from './settings.js';
import type { FormedJob, Waiter } from './waiter.js';

export interface DispatchRequest {
  command: Command;
  channel: Channel;
  keyId: string | null;
  /** A UUIDv7, fresh for each attempt; it is also the operation's id. */
  requestId: string;
  idempotency?: Idempotency | undefined;
}

/** The API's half of the pipeline: it takes a change, and says what certainly became of it. */
export interface Dispatch {
  /** Never rejects; answers within `WAIT_MS` and its grace (`graceMs`). */
  submit: (ref: MaterialRef, request: DispatchRequest) => Promise<DispatchOutcome>;
  /** How many writes of a shop are worth having in hand now; any more would only wait in this process. */
  inHandMax: (shopId: number) => number;
  ready: Health['ready'];
  /** What it knows of itself and of the pipeline, without asking anyone. */
  state: () => DispatchState;
  /** Refuses new writes, waits for the outcomes of those in flight, then closes its connections. */
  close: () => Promise<void>;
}

export interface DispatchDeps {
  redisUrl: string;
  database: Database;
  logger: Logger;
  settings: DispatchSettings;
  metrics: DispatchMetrics;
}

/** @throws where Redis does not answer within five seconds */
export async function createDispatch(deps: DispatchDeps): Promise<Dispatch> {
  const link = await openQueueLink(deps.redisUrl, deps.logger);
  const health = await startHealth(link.redis, createStorageQuestion(deps.database), deps.logger);
  return startDispatch(deps, link, health);
}

function startDispatch(deps: DispatchDeps, link: QueueLink, health: Health): Dispatch {
  const { database, logger, settings, metrics } = deps;
  const admission = createAdmission(settings, health);
  const waiters = createSlotMap<Waiter>();
  let whenIdle: (() => void) | undefined;

  function answer(waiter: Waiter, outcome: DispatchOutcome): void {
    if (!waiters.delete(waiter.operation.id)) return;
    admission.leave(waiter);
    waiter.resolve(outcome);
    combiner.leave(waiter);
    if (waiters.size() === 0) whenIdle?.();
  }

  const enqueue = (jobs: FormedJob[]) => enqueueJobs(link, jobs, health.databaseIdentity());
  const combiner = createCombiner({
    enqueue: (jobs) => {
      for (const { open } of jobs) metrics.jobFormed(open.size);
      return enqueue(jobs);
    },
    answer,
    cancelAtOnce: (open) => followUp.cancelAtOnce(open),
  });
  const { holdUp } = combiner;
  const followUp: FollowUp = startFollowUp({ link, database, logger, metrics, waiters, enqueue, answer, holdUp });
  link.onReplies((replies) => {
    const misdirected: Waiter[] = [];
    for (const [id, reply] of replies) {
      const waiter = waiters.get(id);
      if (waiter === undefined) continue;
      if (reply.status === 'misdirected') misdirected.push(waiter);
      else answer(waiter, toDispatchOutcome(reply));
    }
    if (misdirected.length > 0) followUp.cancelAtOnce(misdirected);
    combiner.sendDue();
  });

  return {
    submit(ref, request) {
      const admitted = admission.admit(ref.shopId, request.command);
      if (!admitted.ok) return Promise.resolve(admitted.refused);
      const { weight, bytes } = admitted;
      const operation = toOperation(request, health.redisNowMs());
      return new Promise((resolve) => {
        const nowMs = performance.now();
        const waiter: Waiter = {
          ref,
          operation,
          weight,
          bytes,
          waitEndsMs: nowMs + settings.WAIT_MS,
          nextLookUpMs: nowMs + lookUpEveryMs,
          job: undefined,
          graceEndsMs: undefined,
          resolve,
        };
        waiters.set(operation.id, waiter);
        combiner.add(waiter);
      });
    },
    inHandMax: (shopId) => combiner.inHandMax(shopId),
    ready: () => health.ready(),
    state: () => ({ writesInFlight: waiters.size(), redis: link.connected(), pipeline: health.pipeline() }),
    async close() {
      admission.close();
      if (waiters.size() > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
      followUp.stop();
      health.stop();
      link.close();
    },
  };
}

function toOperation(
  { requestId, command, channel, keyId, idempotency }: DispatchRequest,
  acceptedAtMs: number,
): Operation {
  return { id: requestId, command, acceptedAtMs, channel, keyId, requestId, ...(idempotency && { idempotency }) };
}

import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { createDispatch } from '../../../api/dispatch/dispatch.js';
import type { Dispatch } from '../../../api/dispatch/dispatch.js';
import type { DispatchMetrics } from '../../../api/dispatch/dispatch-metrics.js';
import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import type { DispatchSettings } from '../../../api/dispatch/settings.js';
import type { Database } from '../../../shared/database/connect.js';
import { runScript } from '../../../shared/queue/run-script.js';
import { answerOfMigrated } from '../../support/redis/lane-deps.js';
import type { OwnQueueHarness } from '../../support/redis/queue-harness.js';

interface DispatchOptions {
  settings?: Partial<DispatchSettings>;
  /** The pool that look-ups are sent over. */
  client?: object;
}

/** A dispatch on the harness' Redis, where a worker is listed as alive; the test is that worker. */
export async function openDispatch(
  { redis, server }: OwnQueueHarness,
  { settings, client }: DispatchOptions = {},
): Promise<Dispatch> {
  await runScript(redis, 'rmBeat', 'worker', 60_000, '');
  return createDispatch({
    redisUrl: server.url,
    database: { raw: answerOfMigrated, client } as unknown as Database,
    logger: pino({ level: 'silent' }),
    settings: { WAIT_MS: 60_000, IN_FLIGHT_SHOP_MAX: 10, IN_FLIGHT_MAX: 10, ...settings },
    metrics: new Proxy({} as DispatchMetrics, { get: () => () => undefined }),
  });
}

/** Submits a change of one row. */
export function submitChange(dispatch: Dispatch, materialId = 'VMAT-1'): Promise<DispatchOutcome> {
  const command = { kind: 'adjust' as const, rows: [{ locationId: '1', delta: 1 }] };
  return dispatch.submit({ shopId: 1, materialId }, { command, channel: 'rest', keyId: null, requestId: uuidv7() });
}

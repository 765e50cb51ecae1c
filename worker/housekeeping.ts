import type { Redis } from 'ioredis';
import { runScript } from '../shared/queue/run-script.js';
import type { WorkerPresence } from '../shared/queue/worker-presence.js';
import type { Logger } from '../shared/runtime/logger.js';
import { periodically } from '../shared/runtime/periodically.js';
import { logRecurring } from '../shared/runtime/recurring-fault.js';

export interface Housekeeping {
  /** Ends the rounds, waits for those under way, and takes the worker off the list of the living. */
  stop(): Promise<void>;
}

const beatEveryMs = 1_000;
const sweepEveryMs = 250;
const sweptMax = 100;

interface Deps {
  redis: Redis;
  presence: WorkerPresence;
  logger: Logger;
}

/**
 * What every worker does for the queue beside its lanes: says that it lives, and makes materials ready again whose
 * lease, delay or place in line has run out (pipeline §2.9), or whose worker is gone.
 */
export function startHousekeeping({ redis, presence, logger }: Deps): Housekeeping {
  const fault = (what: string) => logRecurring(logger, what);
  const rounds = [
    periodically(beatEveryMs, () => presence.beat(), fault('The heartbeat could not be written.')),
    periodically(sweepEveryMs, () => runScript(redis, 'rmSweep', sweptMax), fault('The sweep could not run.')),
    periodically(sweepEveryMs, () => presence.buryGone(), fault('Workers that are gone could not be looked for.')),
  ];
  return {
    async stop() {
      // All at once, so that a silent Redis is waited for only once.
      await Promise.all([presence.leave().catch(() => undefined), ...rounds.map((round) => round.stop())]);
    },
  };
}

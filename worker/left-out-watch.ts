import { materialOfQueue } from '../shared/queue/names.js';
import type { Logger } from '../shared/runtime/logger.js';

/** Told of each cycle which queues it left out, since another session holds their materials' rows, and which it worked on. */
export type LeftOutWatch = (leftOut: ReadonlySet<string>, worked: readonly { queue: string }[]) => void;

/** A transaction that takes this long is none of ours, and whoever waits for its material feels it. */
const longMs = 2_000;
/** They are tried again several times a second; what was not left out for this long was worked on by another process. */
const gapMsMax = 5_000;
/** A session may hold every material there is: one line then, and not one each. */
const sayEveryMs = 30_000;
const namedMax = 10;

/** Says of materials that another session holds on and on why their operations wait, since nothing fails of it here. */
export function createLeftOutWatch(logger: Logger, nowMs: () => number = () => performance.now()): LeftOutWatch {
  const held = new Map<string, { sinceMs: number; lastMs: number }>();
  let saidAtMs = -Infinity;
  return (leftOut, worked) => {
    if (leftOut.size === 0 && held.size === 0) return;
    const now = nowMs();
    for (const { queue } of worked) held.delete(queue);
    for (const [queue, { lastMs }] of held) if (now - lastMs > gapMsMax) held.delete(queue);
    for (const queue of leftOut) held.set(queue, { sinceMs: held.get(queue)?.sinceMs ?? now, lastMs: now });
    const long = [...leftOut].filter((queue) => now - (held.get(queue)?.sinceMs ?? now) >= longMs);
    if (long.length === 0 || now - saidAtMs < sayEveryMs) return;
    saidAtMs = now;
    logger.warn(
      { materials: long.slice(0, namedMax).map(materialOfQueue), count: long.length },
      'Another session of Postgres holds the rows of materials: their operations wait until it lets go.',
    );
  };
}

import { materialOfQueue } from '../shared/queue/names.js';
import type { Logger } from '../shared/runtime/logger.js';

/** Told which queues each cycle left out, as when another session holds a material's row, and which it worked on. */
export type LeftOutWarning = (leftOut: ReadonlySet<string>, worked: readonly { queue: string }[]) => void;

/** No transaction of ours takes this long, and clients of the material notice it. */
const longMs = 2_000;
/** What is left out is retried several times a second; after a gap this long, another worker must have applied it. */
const gapMsMax = 5_000;
/** One line for all materials and not one for each: a session may hold every material there is. */
const sayEveryMs = 30_000;
const namedMax = 10;

/**
 * Warns of materials that are left out again and again: an operator has to look for the session that holds their rows,
 * or a location of theirs.
 */
export function createLeftOutWarning(logger: Logger, nowMs: () => number = () => performance.now()): LeftOutWarning {
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
      'Operations of these materials wait: another session of Postgres holds their rows, or a location where they ' +
        'have no level yet, or one of them overstays its time.',
    );
  };
}

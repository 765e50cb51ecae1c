import type { Database } from '../../shared/database/connect.js';
import { cancelOperations } from '../../shared/database/operations.js';
import type { OperationRef } from '../../shared/database/operations.js';
import { operationExpiryMs } from '../../shared/inventory/time-limits.js';
import type { DispatchMetrics } from './dispatch-metrics.js';

/**
 * Operations whose requests were answered 504 because another session held their material to the end. Once that session
 * lets go, a worker applies them. But one that overstays its time by itself comes back to a worker again and again, and
 * keeps a lane and its material busy for seconds each time, until it expires after ten minutes. So after some time they
 * are cancelled as soon as their material can be locked. That contradicts no answer: 504 promises nothing, and what was
 * applied meanwhile stays applied.
 */
export interface LeftOpen {
  add: (operation: OperationRef) => void;
  /** Tries to cancel those that have been open for long. Never rejects; what fails is tried again with the next call. */
  cancel: () => Promise<void>;
}

export interface LeftOpenDeps {
  database: Database;
  metrics: Pick<DispatchMetrics, 'cancelled'>;
}

/** From the 504 on: the time in which a session that holds a material usually lets go. */
const patienceMs = 15_000;
/** One statement's worth. Beyond that the oldest is forgotten, and goes on until it expires. */
const keptMax = 1_000;

export function createLeftOpen({ database, metrics }: LeftOpenDeps): LeftOpen {
  /** By their ids, the oldest first. */
  const kept = new Map<string, { operation: OperationRef; sinceMs: number }>();
  let isCancelling = false;

  async function cancelAll(operations: OperationRef[]): Promise<void> {
    const { outcomes } = await cancelOperations(database, operations);
    for (const id of outcomes.keys()) kept.delete(id);
    metrics.cancelled([...outcomes.values()].filter(({ status }) => status === 'cancelled').length);
  }

  return {
    add(operation) {
      kept.set(operation.id, { operation, sinceMs: performance.now() });
      const [oldest] = kept.keys();
      if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
    },
    async cancel() {
      const nowMs = performance.now();
      for (const [id, { sinceMs }] of kept) if (nowMs - sinceMs > operationExpiryMs) kept.delete(id);
      const due = [...kept.values()].filter(({ sinceMs }) => nowMs - sinceMs > patienceMs);
      if (isCancelling || due.length === 0) return;
      isCancelling = true;
      await cancelAll(due.map(({ operation }) => operation)).catch(() => undefined);
      isCancelling = false;
    },
  };
}

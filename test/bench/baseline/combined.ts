import type { DispatchOutcome } from '../../../api/dispatch/dispatch-outcome.js';
import type { Database } from '../../../shared/database/connect.js';
import { materialKey } from '../../../shared/domain/operation.js';
import type { MaterialRef, Operation } from '../../../shared/domain/operation.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import type { OperationGroup } from '../../../shared/inventory/decide.js';
import { toDispatchOutcome } from './dispatch-outcome.js';
import { operationOf, rowsOf } from './strategy.js';
import type { Strategy, Submit } from './strategy.js';

interface Waiting {
  ref: MaterialRef;
  operation: Operation;
  rows: number;
  resolve: (outcome: DispatchOutcome) => void;
  reject: (error: unknown) => void;
}

/** As a worker's cycle (pipeline §2 "Limits"). */
const rowsPerTransactionMax = 10_000;

/**
 * g (pipeline §6): calls the apply step in the API process for everything that waits there, of all materials. It is the
 * queue's combining without the queue, and so shows the queue's price. A crash of the process loses what waits in it,
 * and two such processes would meet at the same locks.
 */
export const combined: Strategy = { pipeline: true, createSubmit: createCombined };

/** @param lanes transactions at a time; a material is in one of them only, so none is ever found locked */
function createCombined(database: Database, lanes: number): Submit {
  let waiting: Waiting[] = [];
  const busy = new Set<string>();
  let running = 0;
  let isFlushing = false;

  function flushSoon(): void {
    if (isFlushing || running >= lanes) return;
    isFlushing = true;
    // After this turn of the event loop, as the service's own combining does.
    setImmediate(() => {
      isFlushing = false;
      flush();
    });
  }

  function flush(): void {
    while (running < lanes) {
      const { taken, left } = take(waiting, busy);
      if (taken.length === 0) return;
      waiting = left;
      running += 1;
      const names = new Set(taken.map(nameOf));
      for (const name of names) busy.add(name);
      void apply(database, taken).finally(() => {
        running -= 1;
        for (const name of names) busy.delete(name);
        flush();
      });
    }
  }

  return (ref, request) =>
    new Promise((resolve, reject) => {
      waiting.push({ ref, operation: operationOf(request), rows: rowsOf(request).length, resolve, reject });
      flushSoon();
    });
}

/** The oldest that fit one transaction and whose material is in no other; the order within a material stays. */
function take(waiting: Waiting[], busy: ReadonlySet<string>): { taken: Waiting[]; left: Waiting[] } {
  const taken: Waiting[] = [];
  const left: Waiting[] = [];
  let rows = 0;
  for (const one of waiting) {
    if (rows >= rowsPerTransactionMax || busy.has(nameOf(one))) {
      left.push(one);
    } else {
      taken.push(one);
      rows += one.rows;
    }
  }
  return { taken, left };
}

async function apply(database: Database, taken: Waiting[]): Promise<void> {
  const groups = new Map<string, OperationGroup>();
  for (const one of taken) {
    const group = groups.get(nameOf(one)) ?? { ...one.ref, operations: [] };
    groups.set(nameOf(one), group);
    group.operations.push(one.operation);
  }
  try {
    const { outcomes } = await applyOperations(database, [...groups.values()], { nowMs: Date.now });
    for (const { operation, resolve } of taken) resolve(toDispatchOutcome(outcomes.get(operation.id)));
  } catch (error) {
    for (const { reject } of taken) reject(error);
  }
}

function nameOf({ ref }: Waiting): string {
  return materialKey(ref);
}

import type { QueryConfig } from 'pg';
import { openingQueries } from '../../../shared/database/apply-read.js';
import type { ApplyQuestion } from '../../../shared/database/apply-read.js';
import { readSnapshot } from '../../../shared/database/apply-snapshot.js';
import { readWithoutMaterial, writingQueries } from '../../../shared/database/apply-write.js';
import { pipelinedTransaction } from '../../../shared/database/pipelined-transaction.js';
import type { MaterialRef, Operation, OperationOutcome } from '../../../shared/domain/operation.js';
import { keyMemoryMsDefault } from '../../../shared/inventory/time-limits.js';
import { decide } from '../../../shared/inventory/decide.js';
import { toDispatchOutcome } from './dispatch-outcome.js';
import { operationOf, rowsOf } from './strategy.js';
import type { Strategy } from './strategy.js';

/**
 * f (pipeline §6): the service's own apply step, with everything that exactly-once takes, called once a request and
 * without a queue. The only difference: it waits for the material's lock where the worker skips it and comes back.
 */
export const setBased: Strategy = {
  pipeline: true,
  createSubmit: (database) => async (ref, request) => {
    const operation = operationOf(request);
    const groups = [{ ...ref, operations: [operation] }];
    const question = ask(ref, operation, new Set(rowsOf(request).map(({ locationId }) => locationId)));
    const outcomes = await pipelinedTransaction(database, waiting(openingQueries(question)), (answers) => {
      const decision = decide(groups, readSnapshot(question, answers), {
        nowMs: operation.acceptedAtMs,
        keyMemoryMs: keyMemoryMsDefault,
      });
      return {
        writing: writingQueries(decision.writes),
        conclude: (written): Map<string, OperationOutcome> =>
          new Map([...decision.outcomes, ...readWithoutMaterial(decision.writes, written).outcomes]),
      };
    });
    return toDispatchOutcome(outcomes.get(operation.id));
  },
};

function ask(ref: MaterialRef, { id, idempotency }: Operation, locationIds: Set<string>): ApplyQuestion {
  return {
    materials: [ref],
    levels: [...locationIds].map((locationId) => ({ material: 0, locationId })),
    updated: [],
    operationIds: [id],
    keys: idempotency === undefined ? [] : [idempotency],
    keyAgeMsMax: keyMemoryMsDefault,
  };
}

const skipLocked = 'SKIP LOCKED';

/** Of the materials alone: no level of a benchmark has a location that another session holds. */
function waiting(queries: QueryConfig[]): QueryConfig[] {
  const isLock = ({ name, text }: QueryConfig) => name === 'apply-lock' && text.includes(skipLocked);
  if (!queries.some(isLock)) throw new Error('the apply step no longer locks by one statement that skips');
  return queries.map((query) =>
    isLock(query) ? { ...query, name: 'bench-lock', text: query.text.replace(skipLocked, '') } : query,
  );
}

import type { Dispatch, DispatchRequest } from '../../../api/dispatch/dispatch.js';
import type { Database } from '../../../shared/database/connect.js';
import type { Operation } from '../../../shared/domain/operation.js';

/**
 * What a design does with an accepted change, in place of the queue: everything before and behind it is the API's own.
 */
export interface Strategy {
  /** Whether its pool writes queries without waiting for earlier answers, as the worker's does. */
  pipeline: boolean;
  /** @param connections of the database's pool */
  createSubmit: (database: Database, connections: number) => Submit;
}

/** Rejects where the database does; the process answers that with 500 and the round fails. */
export type Submit = Dispatch['submit'];

/** The operation that the API would queue, accepted now by the one clock there is without Redis. */
export function operationOf({ requestId, command, channel, keyId, idempotency }: DispatchRequest): Operation {
  const operation: Operation = { id: requestId, command, acceptedAtMs: Date.now(), channel, keyId, requestId };
  return idempotency === undefined ? operation : { ...operation, idempotency };
}

export function rowsOf({ command }: DispatchRequest) {
  if (command.kind !== 'adjust') throw new Error('the benchmark adjusts levels only');
  return command.rows;
}

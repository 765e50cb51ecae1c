import type { Operation, OperationOutcome } from '../domain/operation.js';

/** What a BullMQ job of a material's queue carries (pipeline §2 "Names"). */
export interface OperationsJob {
  /**
   * Raised with every change that a worker of the version before would get wrong: a worker refuses a version that it
   * does not know. A field that such a worker may overlook, as it did `database`, raises nothing.
   */
  version: number;
  /** The API process that waits for the outcomes. */
  replyTo: string;
  /** The database that it is for (`readDatabaseIdentity`); absent if the API does not know its own. */
  database?: string;
  operations: Operation[];
}

/**
 * The version that this code writes and understands. In every version the ids of the operations are where they are now.
 * A job that is refused is a 500, so workers have to know a new version a release before any API writes it.
 */
export const jobVersion = 1;

export function operationsJob(replyTo: string, operations: Operation[], databaseIdentity?: string): OperationsJob {
  return {
    version: jobVersion,
    replyTo,
    ...(databaseIdentity !== undefined && { database: databaseIdentity }),
    operations,
  };
}

/**
 * Reads a job, of which it checks only the ids of the operations. An operation that is wrong otherwise fails by itself
 * when it is applied.
 *
 * @param data empty or undefined if the job has lost it
 * @returns undefined for data without such ids: then there is nothing that could be put on record
 */
export function parseOperationsJob(data: string | undefined): OperationsJob | undefined {
  const job = parseJson(data ?? '') as Partial<OperationsJob> | null | undefined;
  if (!Array.isArray(job?.operations)) return undefined;
  const areOurs = job.operations.every((operation: Partial<Operation> | null) => uuidForm.test(String(operation?.id)));
  return areOurs ? (job as OperationsJob) : undefined;
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * What a worker says of an operation: how it ended, or `misdirected`, if its job is for another database than the
 * worker writes to. Then it was not applied, and nothing is on record; a worker of the right database may still apply
 * it.
 */
export type Reply = OperationOutcome | { status: 'misdirected' };

/** What one message on the reply channel says. */
export type Replies = [operationId: string, reply: Reply][];

export function encodeReplies(replies: Replies): string {
  return JSON.stringify(replies);
}

/** @throws SyntaxError where the message is not JSON; what it holds is not checked */
export function decodeReplies(message: string): Replies {
  return JSON.parse(message) as Replies;
}

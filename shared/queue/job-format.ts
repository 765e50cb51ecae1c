import type { Operation, OperationOutcome } from '../domain/operation.js';

/** What a BullMQ job of a material's queue carries (pipeline §2 "Names"). */
export interface OperationsJob {
  /** Raised with every change of this shape; a worker refuses what it does not know instead of guessing. */
  version: number;
  /** The API process that waits for the outcomes. */
  replyTo: string;
  /** The database it is to be applied to (`readDatabaseIdentity`); left out where the API does not know its own. */
  database?: string;
  operations: Operation[];
}

/** The version that this code writes and understands. In every version the operations' ids stand where they do here. */
export const jobVersion = 1;

export function operationsJob(replyTo: string, operations: Operation[], database?: string): OperationsJob {
  return { version: jobVersion, replyTo, ...(database !== undefined && { database }), operations };
}

/**
 * @param data empty or undefined where the job has lost it
 * @returns undefined where the data is no job of ours at all: without ids there is nothing to put on record. Only the
 *   ids are checked; an operation that then cannot be applied fails alone
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
 * What a worker says of an operation: how it ended, or that its job is for another database than the worker writes to.
 * Then it was not applied, and nothing is on record; another worker may still come to it.
 */
export type Reply = OperationOutcome | { status: 'misdirected' };

/** As they travel back on the reply channel. */
export type Replies = [operationId: string, reply: Reply][];

export function encodeReplies(replies: Replies): string {
  return JSON.stringify(replies);
}

export function decodeReplies(message: string): Replies {
  return JSON.parse(message) as Replies;
}

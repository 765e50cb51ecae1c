import type { Operation, OperationOutcome } from '../domain/operation.js';

/** What a BullMQ job of a material's queue carries (pipeline §2 "Names"). */
export interface OperationsJob {
  /** Raised with every change of this shape; a worker refuses what it does not know instead of guessing. */
  version: number;
  /** The API process that waits for the outcomes. */
  replyTo: string;
  operations: Operation[];
}

/** The version that this code writes and understands. Of every version the ids of the operations stand where they are here. */
export const jobVersion = 1;

export function operationsJob(replyTo: string, operations: Operation[]): OperationsJob {
  return { version: jobVersion, replyTo, operations };
}

/** @returns undefined where the data is no job of ours at all */
export function parseOperationsJob(data: string): OperationsJob | undefined {
  const job = JSON.parse(data) as Partial<OperationsJob>;
  return Array.isArray(job.operations) ? (job as OperationsJob) : undefined;
}

/** The outcomes of operations as they travel back on the reply channel. */
type Replies = [operationId: string, outcome: OperationOutcome][];

export function encodeReplies(replies: Replies): string {
  return JSON.stringify(replies);
}

export function decodeReplies(message: string): Replies {
  return JSON.parse(message) as Replies;
}

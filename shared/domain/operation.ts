import type { AdjustmentRow } from './adjustment.js';
import type { RowChange, RowFailure } from './batch-result.js';
import type { ErrorDetail } from './errors.js';
import type { MaterialChanges, VersionedMaterial } from './material.js';

/** Where a change came from; the ledger says it (contract §7 `history`). */
export type Channel = 'rest' | 'mcp' | 'cli' | 'import';

/** What an operation wants done to its material. */
export type Command = AdjustCommand | UpdateCommand;

export interface AdjustCommand {
  kind: 'adjust';
  rows: AdjustmentRow[];
  /** Each row's index in the request, if `handling=lenient` left malformed rows out; absent if it is the index here. */
  rowIndexes?: number[];
  /** The result says what each row did (contract §7 `return=representation`). */
  detailed?: true;
  /**
   * No row is booked: the result says what each would have done (contract §7). The operation is recorded all the same.
   */
  dryRun?: true;
}

export interface UpdateCommand {
  kind: 'update';
  changes: MaterialChanges;
  /** Applied only at one of these versions of the fields; an empty list matches none (contract §7 `If-Match`). */
  ifVersions?: number[];
}

/** One material of one shop: the unit of order, of a queue and of a lock. */
export interface MaterialRef {
  shopId: number;
  materialId: string;
}

/** Tells a material from every other, in the keys of maps and the names of queues: `7.VMAT-VAR-…`. */
export function materialKey({ shopId, materialId }: MaterialRef): string {
  return `${shopId}.${materialId}`;
}

/**
 * One accepted client request on one material (pipeline §2 "Names"). It is data only: it travels through the queue as
 * JSON, and holds nothing but the validated copy of what the client sent.
 */
export interface Operation {
  /**
   * A UUIDv7, new for each attempt. Never derived from a client's key: then a cancelled attempt would be found on
   * record by the next one, and cancel it too.
   */
  id: string;
  command: Command;
  /** When it was accepted, in milliseconds of Redis' clock; it expires ten minutes later. */
  acceptedAtMs: number;
  /** What it came over, `rest` or `mcp`. Opening stock has the others, and is no operation (`openStock`). */
  channel: Channel;
  /** Of the API key. Null in tests alone. */
  keyId: string | null;
  /** The same as `id`. The ledger has both, because opening stock came with no request. Null in tests alone. */
  requestId: string | null;
  /** Set where the client sent an `Idempotency-Key`. */
  idempotency?: Idempotency;
}

/** Two SHA-256 sums in hex (contract §7). */
export interface Idempotency {
  /** Of shop, method, path and key. */
  scope: string;
  /** Of everything that gives the request its meaning. */
  requestHash: string;
}

/** The answer of an executed operation, which is remembered and replayed. */
export type OperationResult =
  | { kind: 'adjusted'; rowCount: number; failures: RowFailure[]; changes?: RowChange[] }
  | ({ kind: 'updated' } & VersionedMaterial)
  | {
      kind: 'rejected';
      code: 'NOT_FOUND' | 'INVALID_INPUT' | 'PRECONDITION_FAILED';
      message: string;
      details?: ErrorDetail[];
    };

/** How an operation ended, as Postgres has it on record. */
export type OperationOutcome =
  | { status: 'executed'; result: OperationResult; replayed: boolean }
  /** The client's key was executed before with another request: 422. */
  | { status: 'key-reused' }
  /** Met a worker more than ten minutes after (or before) it was accepted; certainly not applied. */
  | { status: 'expired' }
  /** Cancelled by the API, because nobody had decided it in time; certainly not applied, ever. */
  | { status: 'cancelled' }
  /** A fault of ours: it failed twice by itself, or its job was given up. Not applied, and not remembered for a key. */
  | { status: 'failed' };

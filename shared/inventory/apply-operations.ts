import { confirmAbsence } from '../database/absence.js';
import { openingQueries } from '../database/apply-read.js';
import type { ApplyQuestion } from '../database/apply-read.js';
import { readSnapshot } from '../database/apply-snapshot.js';
import { readWithoutMaterial, writingQueries } from '../database/apply-write.js';
import type { OperationRecord } from '../database/apply-write.js';
import type { Database } from '../database/connect.js';
import { pipelinedTransaction } from '../database/pipelined-transaction.js';
import type { MaterialRef, OperationOutcome } from '../domain/operation.js';
import { decide } from './decide.js';
import type { OperationGroup } from './decide.js';
import { keyMemoryMsDefault, operationExpiryMs } from './time-limits.js';

export interface ApplyReport {
  /** By operation id; without the operations of materials that were left out. */
  outcomes: Map<string, OperationOutcome>;
  /**
   * Materials of which another session holds a row, or a location at which they have no level yet. Nothing was done for
   * them; they have to be tried again.
   */
  leftOut: MaterialRef[];
  /** The operations that this transaction recorded, without those that were on record. */
  records: OperationRecord[];
  /** Booked rows that stopped at zero. */
  clampedRows: number;
}

export interface ApplyOptions {
  /** The time by the clock of `acceptedAtMs`; asked when the operations are decided. */
  nowMs: () => number;
  /** How old an execution may be that answers a repeat of its `Idempotency-Key`, when that is accepted (contract §7). */
  keyMemoryMs?: number;
}

/**
 * The apply step, which alone changes levels (the first ones of a new material come from `openStock`). One Postgres
 * transaction takes the operations of some materials, and writes levels, totals, the ledger and one row for each
 * operation (pipeline §2.6). An operation that is on record is never applied again, whoever runs it and however often.
 *
 * @param database opened with `pipeline: true`
 * @param groups one for each material, no material twice
 * @throws what Postgres answers; then nothing was applied, or, if the connection broke, either all or nothing
 */
export async function applyOperations(
  database: Database,
  groups: OperationGroup[],
  { nowMs, keyMemoryMs = keyMemoryMsDefault }: ApplyOptions,
): Promise<ApplyReport> {
  if (groups.length === 0) return { outcomes: new Map(), leftOut: [], records: [], clampedRows: 0 };
  // A repeat may have waited since it was accepted, as behind a lock, but not for longer.
  const question = questionOf(groups, keyMemoryMs + operationExpiryMs);
  return pipelinedTransaction(database, openingQueries(question), (answers) => {
    // Operations may have expired while the process stood still, and clients were told that these are never applied.
    const { outcomes, leftOut, absent, writes } = decide(groups, readSnapshot(question, answers), {
      nowMs: nowMs(),
      keyMemoryMs,
    });
    return {
      confirmation: absent.length > 0 ? confirmAbsence(absent) : undefined,
      writing: writingQueries(writes),
      conclude: (written) => {
        const withoutMaterial = readWithoutMaterial(writes, written);
        return {
          outcomes: new Map([...outcomes, ...withoutMaterial.outcomes]),
          leftOut,
          records: [...writes.records, ...withoutMaterial.records],
          clampedRows: writes.entries.reduce((count, { applied }) => count + (applied.clamped ? 1 : 0), 0),
        };
      },
    };
  });
}

/** What has to be read to decide these operations; every level once, however many rows name it. */
function questionOf(groups: OperationGroup[], keyAgeMsMax: number): ApplyQuestion {
  const question: ApplyQuestion = {
    materials: groups,
    levels: [],
    updated: [],
    operationIds: [],
    keys: [],
    keyAgeMsMax,
  };
  const keys = new Map<string, ApplyQuestion['keys'][number]>();
  groups.forEach(({ operations }, material) => {
    const locationIds = new Set<string | null>();
    for (const { id, command, idempotency } of operations) {
      question.operationIds.push(id);
      if (idempotency !== undefined) keys.set(`${idempotency.scope} ${idempotency.requestHash}`, idempotency);
      if (command.kind === 'adjust') for (const row of command.rows) locationIds.add(row.locationId);
      // A written total is booked at the default location, whichever that is.
      else if (command.changes.inventoryQuantity !== undefined) locationIds.add(null);
    }
    for (const locationId of locationIds) question.levels.push({ material, locationId });
    if (operations.some(({ command }) => command.kind === 'update')) question.updated.push(material);
  });
  question.keys.push(...keys.values());
  return question;
}

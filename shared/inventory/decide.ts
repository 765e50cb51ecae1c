import type { ApplySnapshot, ExecutedRecord } from '../database/apply-snapshot.js';
import type { ApplyWrites, OperationRecord } from '../database/apply-write.js';
import { materialIdKind, noSuchMaterial } from '../domain/material-id.js';
import type { MaterialRef, Operation, OperationOutcome, OperationResult } from '../domain/operation.js';
import { changedFields, foldOperation, isChanged, levelWrites, openMaterial } from './material-state.js';
import type { MaterialState } from './material-state.js';
import { hasExpired } from './time-limits.js';

/** The operations of one material, in the order in which they must take effect. */
export interface OperationGroup extends MaterialRef {
  operations: Operation[];
}

export interface Decision {
  outcomes: Map<string, OperationOutcome>;
  leftOut: MaterialRef[];
  /**
   * Materials that do not exist, where an answer that says so will be remembered for an `Idempotency-Key`. That they do
   * not is confirmed before it is written (`confirmAbsence`).
   */
  absent: MaterialRef[];
  writes: ApplyWrites;
}

/**
 * Decides every operation of a transaction, in order, from what was read under the locks (pipeline §2.6): it is already
 * on record, a request with its key was executed before, it has expired, or else it runs.
 *
 * @param time `nowMs` by the clock of `acceptedAtMs`, which is that of Redis; `keyMemoryMs` is how long after its
 *   execution an `Idempotency-Key` is known
 */
export function decide(groups: OperationGroup[], snapshot: ApplySnapshot, time: DecisionTime): Decision {
  const soFar: DecidedSoFar = { snapshot, ...time, outcomes: new Map(), executed: new Map(snapshot.executedByScope) };
  const leftOut: MaterialRef[] = [];
  const absent: MaterialRef[] = [];
  const writes: ApplyWrites = emptyWrites(snapshot.atMs);
  const withoutMaterial: OperationRecord[] = [];
  groups.forEach((group, index) => {
    const material = snapshot.materials[index];
    if (material === undefined) {
      const records = decideGroup(soFar, group, undefined);
      withoutMaterial.push(...records);
      if (records.some(isRemembered)) absent.push(group);
    } else if (material.isOurs) {
      const state = openMaterial(group, material);
      writes.records.push(...decideGroup(soFar, group, state));
      collectWrites(writes, state);
    } else {
      leftOut.push(group);
    }
  });
  // All in one statement, which sorts them. With two, we could deadlock with a cancellation of operations of both.
  (withoutMaterial.some(dependsOnAnother) ? writes.records : writes.recordsWithoutMaterial).push(...withoutMaterial);
  return { outcomes: soFar.outcomes, leftOut, absent, writes };
}

interface DecisionTime {
  nowMs: number;
  keyMemoryMs: number;
}

/** What was read, and what has been decided so far: an operation sees those before it. */
interface DecidedSoFar extends DecisionTime {
  snapshot: ApplySnapshot;
  outcomes: Map<string, OperationOutcome>;
  /** By key scope: the executions on record and those of this transaction. */
  executed: Map<string, ExecutedRecord>;
}

function decideGroup(soFar: DecidedSoFar, group: OperationGroup, state: MaterialState | undefined): OperationRecord[] {
  const records: OperationRecord[] = [];
  for (const operation of group.operations) {
    // The same job may be here twice, or have been delivered before.
    if (soFar.outcomes.has(operation.id)) continue;
    const recorded = soFar.snapshot.recorded.get(operation.id);
    if (recorded !== undefined) {
      soFar.outcomes.set(operation.id, recorded);
      continue;
    }
    const { outcome, replayOf } = decideOperation(soFar, operation, state);
    soFar.outcomes.set(operation.id, outcome);
    records.push({ shopId: group.shopId, materialId: group.materialId, operation, outcome, replayOf });
  }
  return records;
}

function decideOperation(
  soFar: DecidedSoFar,
  operation: Operation,
  state: MaterialState | undefined,
): { outcome: OperationOutcome; replayOf: string | null } {
  const key = operation.idempotency;
  const earlier = key && soFar.executed.get(key.scope);
  if (earlier !== undefined && wasKnown(soFar, earlier, operation)) {
    const result = earlier.requestHash === key?.requestHash ? earlier.result : undefined;
    if (result === undefined) return { outcome: { status: 'key-reused' }, replayOf: null };
    return { outcome: { status: 'executed', result, replayed: true }, replayOf: earlier.operationId };
  }
  if (hasExpired(operation, soFar.nowMs)) {
    return { outcome: { status: 'expired' }, replayOf: null };
  }
  const result = execute(operation, state);
  // fail-point: mid-fold!sync
  if (key !== undefined) {
    soFar.executed.set(key.scope, { operationId: operation.id, requestHash: key.requestHash, ageMs: 0, result });
  }
  return { outcome: { status: 'executed', result, replayed: false }, replayOf: null };
}

/** Whether the key was still remembered when the operation was accepted: it may have waited for minutes since. */
function wasKnown(
  { nowMs, keyMemoryMs }: DecisionTime,
  { ageMs }: ExecutedRecord,
  { acceptedAtMs }: Operation,
): boolean {
  return ageMs - Math.max(0, nowMs - acceptedAtMs) < keyMemoryMs;
}

/**
 * Whether an outcome follows from that of another operation, perhaps of this same transaction. Without a lock, somebody
 * else may decide the other one first (cancel it, or apply it to a material that was created since). Then this outcome
 * is wrong too, so both have to be written together or not at all.
 */
function dependsOnAnother({ outcome, replayOf }: OperationRecord): boolean {
  return replayOf !== null || outcome.status === 'key-reused';
}

/** Whether a later request with the same key will get the same answer. */
function isRemembered({ operation, outcome, replayOf }: OperationRecord): boolean {
  return operation.idempotency !== undefined && outcome.status === 'executed' && replayOf === null;
}

function execute(operation: Operation, state: MaterialState | undefined): OperationResult {
  if (state === undefined) return { kind: 'rejected', code: 'NOT_FOUND', message: noSuchMaterial };
  if (materialIdKind(state.materialId) !== 'virtual') {
    const message = 'The inventory and fields of a platform material are managed on the commerce platform.';
    return { kind: 'rejected', code: 'INVALID_INPUT', message };
  }
  return foldOperation(state, operation);
}

function collectWrites(writes: ApplyWrites, state: MaterialState): void {
  const { shopId, materialId, total, snapshot } = state;
  writes.levels.push(...levelWrites(state));
  writes.entries.push(...state.entries);
  if (isChanged(state)) writes.totals.push({ shopId, materialId, total, atMs: snapshot.atMs });
  const fields = changedFields(state);
  if (fields !== undefined) writes.materials.push({ shopId, ...fields });
}

function emptyWrites(atMs: number): ApplyWrites {
  return { atMs, levels: [], totals: [], entries: [], materials: [], records: [], recordsWithoutMaterial: [] };
}

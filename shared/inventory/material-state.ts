import type { LevelWrite, NewLedgerEntry } from '../database/apply-write.js';
import type { LevelSnapshot, MaterialSnapshot } from '../database/apply-snapshot.js';
import { adjustLevel, rowForTotal, unknownLocation } from '../domain/adjustment.js';
import type { AdjustmentRow, RowApplied, RowOutcome } from '../domain/adjustment.js';
import type { RowChange, RowFailure } from '../domain/batch-result.js';
import type { VersionedMaterial } from '../domain/material.js';
import type { AdjustCommand, MaterialRef, Operation, OperationResult, UpdateCommand } from '../domain/operation.js';
import { failedPrecondition } from '../domain/precondition.js';
import { toUnits } from '../domain/quantity.js';

/**
 * A locked material while a transaction folds its operations, that is, runs them row by row, each on what the one
 * before it left (contract §3.4). It has what was read, and what it has become since.
 */
export interface MaterialState extends MaterialRef {
  snapshot: MaterialSnapshot;
  total: number;
  touchedLevels: Map<string, LevelSnapshot>;
  entries: NewLedgerEntry[];
  /** Set where one of the operations updates its fields: the object of the snapshot, until one has another value. */
  fields: VersionedMaterial | undefined;
}

export function openMaterial(ref: MaterialRef, snapshot: MaterialSnapshot): MaterialState {
  return {
    shopId: ref.shopId,
    materialId: ref.materialId,
    snapshot,
    total: snapshot.total,
    touchedLevels: new Map(),
    entries: [],
    fields: snapshot.fields,
  };
}

/** Runs one operation on the material, by the rules of `shared/domain`. */
export function foldOperation(state: MaterialState, operation: Operation): OperationResult {
  const { command } = operation;
  switch (command.kind) {
    case 'adjust':
      return foldRows(command.dryRun === true ? copyOf(state) : state, operation, command);
    case 'update':
      return foldUpdate(state, operation, command);
  }
}

/** For a dry run: it sees what the operations before it left, and those after it see nothing of it. */
function copyOf(state: MaterialState): MaterialState {
  return { ...state, touchedLevels: new Map(state.touchedLevels), entries: [] };
}

function foldRows(state: MaterialState, operation: Operation, command: AdjustCommand): OperationResult {
  const { rows, rowIndexes, detailed, dryRun } = command;
  const failures: RowFailure[] = [];
  const changes: RowChange[] | undefined = (detailed ?? dryRun) ? [] : undefined;
  rows.forEach((row, position) => {
    const index = rowIndexes?.[position] ?? position;
    const outcome = foldRow(state, operation, row, index);
    if (!outcome.ok) failures.push({ index, code: outcome.code, message: outcome.message });
    else changes?.push(changeOf(index, row, outcome));
  });
  const result = { kind: 'adjusted' as const, rowCount: rows.length, failures };
  return changes === undefined ? result : { ...result, changes };
}

function changeOf(index: number, { locationId }: AdjustmentRow, outcome: RowApplied): RowChange {
  const { previous, applied, level, clamped } = outcome;
  return { index, locationId, previous, applied, level, clamped };
}

function foldRow(state: MaterialState, operation: Operation, row: AdjustmentRow, rowIndex: number): RowOutcome {
  const before = state.touchedLevels.get(row.locationId) ?? state.snapshot.levels.get(row.locationId);
  if (before === undefined) return unknownLocation(row.locationId);
  const applied = adjustLevel(row, {
    level: before.quantity,
    total: state.total,
    allowNegative: state.snapshot.allowNegative,
  });
  if (!applied.ok) return applied;
  const after = { ...before, quantity: applied.level, sequence: before.sequence + 1 };
  state.touchedLevels.set(row.locationId, after);
  state.total += applied.applied;
  const { id: levelId, sequence } = after;
  const { atMs } = state.snapshot;
  state.entries.push({ shopId: state.shopId, levelId, sequence, atMs, operation, rowIndex, row, applied });
  return applied;
}

/** All or nothing: where the total cannot be booked, none of the request's fields is changed (contract §4). */
function foldUpdate(
  state: MaterialState,
  operation: Operation,
  { changes: { inventoryQuantity, ...changes }, ifVersions }: UpdateCommand,
): OperationResult {
  if (state.fields === undefined) throw new Error(`the fields of ${state.materialId} were not read`);
  const stale = failedPrecondition(state.fields.version, ifVersions);
  if (stale !== undefined) return { kind: 'rejected', code: 'PRECONDITION_FAILED', message: stale };
  if (inventoryQuantity !== undefined) {
    const refusal = foldTotal(state, operation, inventoryQuantity);
    if (refusal !== undefined) return refusal;
  }
  const { material: before } = state.fields;
  // A client that sends what is there already, like a nightly sync, changes neither the version nor the time.
  if (Object.entries(changes).some(([field, value]) => before[field as keyof typeof changes] !== value)) {
    const { version } = state.fields;
    state.fields = { material: { ...before, ...changes }, version: version + 1 };
  }
  const { material, version } = state.fields;
  // If nothing has changed, `updatedAt` stays that of the last change.
  const updatedAt = isChanged(state) ? new Date(state.snapshot.atMs).toISOString() : material.updatedAt;
  return { kind: 'updated', material: { ...material, inventoryQuantity: toUnits(state.total), updatedAt }, version };
}

function foldTotal(state: MaterialState, operation: Operation, target: number): OperationResult | undefined {
  const id = state.snapshot.defaultLocationId;
  const level = id === null ? undefined : (state.touchedLevels.get(id) ?? state.snapshot.levels.get(id));
  const defaultLocation = id === null || level === undefined ? undefined : { id, level: level.quantity };
  const wanted = rowForTotal({ target, total: state.total, defaultLocation });
  const outcome = wanted.ok ? foldRow(state, operation, wanted.row, 0) : wanted;
  if (outcome.ok) return undefined;
  const { message } = outcome;
  return { kind: 'rejected', code: 'INVALID_INPUT', message, details: [{ path: '/inventoryQuantity', message }] };
}

/** Whether a row was booked, even one that left its level as it was, or a field has another value. */
export function isChanged(state: MaterialState): boolean {
  return state.touchedLevels.size > 0 || changedFields(state) !== undefined;
}

/** The fields that the operations leave changed, or undefined. */
export function changedFields({ fields, snapshot }: MaterialState): VersionedMaterial | undefined {
  return fields === snapshot.fields ? undefined : fields;
}

/** The levels that the operations leave changed, sorted by location. */
export function levelWrites({ shopId, materialId, snapshot: { atMs }, touchedLevels }: MaterialState): LevelWrite[] {
  return [...touchedLevels]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([locationId, level]) => ({ shopId, materialId, locationId, atMs, ...level }));
}

import type { LedgerEntry, LevelWrite } from '../database/apply-write.js';
import type { LevelSnapshot, MaterialSnapshot } from '../database/apply-read.js';
import { adjustLevel, rowForTotal, unknownLocation } from '../domain/adjustment.js';
import type { AdjustmentRow, RowOutcome } from '../domain/adjustment.js';
import type { RowFailure } from '../domain/batch-result.js';
import type { Material, MaterialChanges } from '../domain/material.js';
import type { MaterialRef, Operation, OperationResult } from '../domain/operation.js';
import { toUnits } from '../domain/quantity.js';

/**
 * A locked material while a cycle folds its operations: what it was when read, and what has become of it since. Each
 * operation, and each row of one, sees what the one before it left (contract §3.4).
 */
export interface MaterialState extends MaterialRef {
  snapshot: MaterialSnapshot;
  total: number;
  touchedLevels: Map<string, LevelSnapshot>;
  entries: LedgerEntry[];
  /** Set where the cycle holds an update of its fields. */
  fields: Material | undefined;
  stockChanged: boolean;
  fieldsChanged: boolean;
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
    stockChanged: false,
    fieldsChanged: false,
  };
}

/** Runs one operation on the material, by the rules of `shared/domain`. */
export function foldOperation(state: MaterialState, operation: Operation, atMs: number): OperationResult {
  const { command } = operation;
  switch (command.kind) {
    case 'adjust':
      return { kind: 'adjusted', rowCount: command.rows.length, failures: foldRows(state, operation, command.rows) };
    case 'update':
      return foldUpdate(state, operation, command.changes, atMs);
  }
}

function foldRows(state: MaterialState, operation: Operation, rows: AdjustmentRow[]): RowFailure[] {
  const failures: RowFailure[] = [];
  rows.forEach((row, index) => {
    const outcome = foldRow(state, operation, row, index);
    if (!outcome.ok) failures.push({ index, code: outcome.code, message: outcome.message });
  });
  return failures;
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
  state.stockChanged = true;
  const { id: levelId, sequence } = after;
  state.entries.push({ shopId: state.shopId, levelId, sequence, operation, rowIndex, row, applied });
  return applied;
}

/** All or nothing: where the total cannot be booked, none of the request's fields is changed (contract §4). */
function foldUpdate(
  state: MaterialState,
  operation: Operation,
  { inventoryQuantity, ...changes }: MaterialChanges,
  atMs: number,
): OperationResult {
  if (state.fields === undefined) throw new Error(`the fields of ${state.materialId} were not read`);
  if (inventoryQuantity !== undefined) {
    const refusal = foldTotal(state, operation, inventoryQuantity);
    if (refusal !== undefined) return refusal;
  }
  if (Object.keys(changes).length > 0) {
    state.fields = { ...state.fields, ...changes };
    state.fieldsChanged = true;
  }
  const updatedAt = new Date(atMs).toISOString();
  return { kind: 'updated', material: { ...state.fields, inventoryQuantity: toUnits(state.total), updatedAt } };
}

function foldTotal(state: MaterialState, operation: Operation, target: number): OperationResult | undefined {
  const id = state.snapshot.defaultLocationId;
  const level = id === null ? undefined : (state.touchedLevels.get(id) ?? state.snapshot.levels.get(id));
  const defaultLocation = id === null || level === undefined ? undefined : { id, level: level.quantity };
  const wanted = rowForTotal(target, state.total, defaultLocation);
  const outcome = wanted.ok ? foldRow(state, operation, wanted.row, 0) : wanted;
  if (outcome.ok) return undefined;
  const { message } = outcome;
  return { kind: 'rejected', code: 'INVALID_INPUT', message, details: [{ path: '/inventoryQuantity', message }] };
}

/** The levels that the cycle leaves changed, sorted as they are locked. */
export function levelWrites(state: MaterialState): LevelWrite[] {
  return [...state.touchedLevels]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([locationId, level]) => ({ shopId: state.shopId, materialId: state.materialId, locationId, ...level }));
}

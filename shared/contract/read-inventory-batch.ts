import type { AdjustmentRow } from '../domain/adjustment.js';
import type { RowFailure } from '../domain/batch-result.js';
import { succeed } from '../domain/errors.js';
import type { ErrorDetail, Result } from '../domain/errors.js';
import { toMicros } from '../domain/quantity.js';
import { ajv } from './ajv.js';
import { detailsMax, faultsOf, pointerStep, refuseInput } from './faults.js';
import { batchRowsMax, inventoryRowSchema } from './inventory-batch.js';
import type { InventoryRow } from './inventory-batch.js';
import { isJsonObject } from './json-object.js';

/**
 * The rows of an inventory batch, valid and rounded to millionths, or INVALID_INPUT that names every bad row, so that
 * the client can mend and resend the whole batch (contract §3.1, §3.2). The rows are copies: nothing else that was sent
 * goes on.
 *
 * Rows are checked one by one rather than by the schema of the whole: Ajv, which collects all errors, would build
 * hundreds of thousands of error objects for a megabyte of junk rows before the first could be answered.
 *
 * @param body the parsed JSON
 * @param variantId the id of the request's material, which a row may only repeat (spec §PATCH inventory, rule 6)
 */
export function readInventoryBatch(body: unknown, variantId: string): Result<AdjustmentRow[]> {
  const faults = faultsAroundRows(body);
  const rows: AdjustmentRow[] = [];
  // Also if something beside the rows is at fault: the client should hear of everything at once.
  for (const [index, row] of (rowsIn(body) ?? []).entries()) {
    const found = rowFaults(row, index, variantId);
    if (found.length === 0) rows.push(toAdjustmentRow(row as InventoryRow));
    // Beyond the limit each bad row is still named, with its first fault alone.
    else faults.push(...(faults.length < detailsMax ? found : found.slice(0, 1)));
  }
  return faults.length > 0 ? refuseInput('body', faults) : succeed(rows);
}

/** A batch whose malformed rows were set apart. */
export interface LenientBatch {
  /** The valid rows, in their order. */
  rows: AdjustmentRow[];
  /** The others, by their index in the request. */
  malformed: RowFailure[];
}

/**
 * As `readInventoryBatch`, for `Prefer: handling=lenient` (contract §3.2): a malformed row becomes a row result. What
 * is wrong with the request around the rows is still INVALID_INPUT.
 */
export function readLenientBatch(body: unknown, variantId: string): Result<LenientBatch> {
  const faults = faultsAroundRows(body);
  if (faults.length > 0) return refuseInput('body', faults);
  const { updates } = body as { updates: unknown[] };
  const batch: LenientBatch = { rows: [], malformed: [] };
  for (const [index, row] of updates.entries()) {
    const found = rowFaults(row, index, variantId);
    if (found.length === 0) batch.rows.push(toAdjustmentRow(row as InventoryRow));
    else batch.malformed.push({ index, code: 'INVALID_INPUT', message: sentencesOf(found, index) });
  }
  return succeed(batch);
}

/**
 * All that is wrong with one row in one message, since a row result has no details: `delta: Must be a finite number.`
 */
function sentencesOf(faults: readonly ErrorDetail[], index: number): string {
  const start = `/updates/${index}/`.length;
  return faults
    .map(({ path, message }) => (path.length > start ? `${path.slice(start)}: ${message}` : message))
    .join(' ');
}

/** An object with more fields than this is one fault, whatever they are. */
export const fieldsMax = 32;
const tooManyFields = `Has more than ${fieldsMax} fields.`;

const isRow = ajv.compile(inventoryRowSchema);

function faultsAroundRows(body: unknown): ErrorDetail[] {
  if (!isJsonObject(body)) return [{ path: '', message: 'Must be an object.' }];
  const keys = Object.keys(body);
  if (keys.length > fieldsMax) return [{ path: '', message: tooManyFields }];
  const faults = keys
    .filter((key) => key !== 'updates')
    .map((key) => ({ path: pointerStep(key), message: 'Is not a known field here.' }));
  const fault = updatesFault(body);
  return fault === undefined ? faults : [...faults, { path: '/updates', message: fault }];
}

/** The rows, if there are not too few or too many. */
function rowsIn(body: unknown): unknown[] | undefined {
  return isJsonObject(body) && updatesFault(body) === undefined ? (body['updates'] as unknown[]) : undefined;
}

function updatesFault(body: Record<string, unknown>): string | undefined {
  if (!Object.hasOwn(body, 'updates')) return 'Is required.';
  const { updates } = body;
  if (!Array.isArray(updates)) return 'Must be an array.';
  if (updates.length === 0) return 'Must hold at least one row.';
  return updates.length > batchRowsMax ? `Must hold at most ${batchRowsMax} rows.` : undefined;
}

function rowFaults(row: unknown, index: number, variantId: string): ErrorDetail[] {
  const path = `/updates/${index}`;
  if (!isJsonObject(row)) return [{ path, message: 'Must be an object.' }];
  if (Object.keys(row).length > fieldsMax) return [{ path, message: tooManyFields }];
  const faults = isRow(row) ? [] : faultsOf(isRow.errors ?? [], path);
  if (typeof row['variantId'] === 'string' && row['variantId'] !== variantId) {
    faults.push({ path: `${path}/variantId`, message: 'Must equal the variantId of the request.' });
  }
  return faults;
}

function toAdjustmentRow(row: InventoryRow): AdjustmentRow {
  const adjustment: AdjustmentRow = { locationId: row.locationId };
  if (row.delta !== undefined) adjustment.delta = toMicros(row.delta);
  if (row.absolute !== undefined) adjustment.absolute = toMicros(row.absolute);
  if (row.expected !== undefined) adjustment.expected = toMicros(row.expected);
  if (row.reason !== undefined) adjustment.reason = row.reason;
  if (row.reference !== undefined) adjustment.reference = row.reference;
  return adjustment;
}

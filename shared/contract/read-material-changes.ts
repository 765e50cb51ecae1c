import { succeed } from '../domain/errors.js';
import type { Result } from '../domain/errors.js';
import type { MaterialChanges } from '../domain/material.js';
import { toMicros, toUnits } from '../domain/quantity.js';
import { ajv } from './ajv.js';
import { faultsOf, refuseInput } from './faults.js';
import { isJsonObject } from './json-object.js';
import { materialChangesSchema } from './material-changes.js';
import type { MaterialChangesBody } from './material-changes.js';

/**
 * The recognised fields of a field update, valid and rounded to six places; empty where none was sent. INVALID_INPUT
 * names every fault (contract §2 "Editable fields"). Only own properties that are known are copied, so `__proto__` and
 * whatever else came along is left behind.
 *
 * @param body the parsed JSON
 */
export function readMaterialChanges(body: unknown): Result<MaterialChanges> {
  if (!isJsonObject(body)) return refuseInput('body', [{ path: '', message: 'Must be an object.' }]);
  if (!isChanges(body)) return refuseInput('body', faultsOf(isChanges.errors ?? []));
  const changes: Record<string, unknown> = {};
  for (const field of fields) {
    if (Object.hasOwn(body, field)) changes[field] = rounded(field, body[field]);
  }
  return succeed(changes as MaterialChanges);
}

const isChanges = ajv.compile<MaterialChangesBody>(materialChangesSchema);
const fields = Object.keys(materialChangesSchema.properties) as (keyof typeof materialChangesSchema.properties)[];

/** Money and weight stay in units; a stock is in millionths, since it becomes an adjustment. */
function rounded(field: string, value: unknown): unknown {
  if (typeof value !== 'number') return value;
  return field === 'inventoryQuantity' ? toMicros(value) : toUnits(toMicros(value));
}

import type { FromSchema } from 'json-schema-to-ts';
import { inputMaxUnits, levelMaxUnits } from '../domain/quantity.js';

/** Rows per request (contract §3.1). */
export const batchRowsMax = 1_000;

/**
 * One row of an inventory batch (spec §Inventory batch request row, contract §3.2 and §7). Quantities are rounded to
 * six places after this check.
 */
export const inventoryRowSchema = {
  title: 'InventoryRow',
  type: 'object',
  required: ['locationId'],
  oneOf: [{ required: ['delta'] }, { required: ['absolute'] }],
  properties: {
    locationId: { type: 'string', minLength: 1, maxLength: 255, format: 'text' },
    delta: { type: 'number', minimum: -inputMaxUnits, maximum: inputMaxUnits, description: 'Relative adjustment.' },
    absolute: {
      type: 'number',
      minimum: 0,
      maximum: inputMaxUnits,
      description:
        'Target level. Safe to send again while nobody else changes the level; otherwise with an idempotency key or ' +
        '`expected`.',
    },
    variantId: { type: 'string', description: 'Must equal the variantId of the path.' },
    expected: {
      type: 'number',
      minimum: -levelMaxUnits,
      maximum: levelMaxUnits,
      description: 'Apply the row only while the level equals this; CONFLICT otherwise.',
    },
    // These two are kept: from here by `AdjustmentRow` to `shared/database/apply-write.ts`, and back by `ledger.ts` there.
    reason: { type: 'string', maxLength: 255, format: 'text', description: 'Written to the ledger.' },
    reference: {
      type: 'string',
      maxLength: 255,
      format: 'text',
      description: 'Written to the ledger. An id of yours in it tells, in the history, whether the row was applied.',
    },
  },
  additionalProperties: false,
} as const;

/** The body of the inventory update. A field that is not known is refused: a misspelt `expected` must not commit. */
export const inventoryBatchSchema = {
  title: 'InventoryBatch',
  type: 'object',
  required: ['updates'],
  properties: { updates: { type: 'array', minItems: 1, maxItems: batchRowsMax, items: inventoryRowSchema } },
  additionalProperties: false,
} as const;

/** Without `oneOf`, which would make a union of two types, though both are read the same way. */
export type InventoryRow = FromSchema<Omit<typeof inventoryRowSchema, 'oneOf'>>;

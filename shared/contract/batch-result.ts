import type { FromSchema } from 'json-schema-to-ts';
import { wholeObject } from './whole-object.js';

const count = { type: 'integer', minimum: 0 } as const;

const rowOk = wholeObject({ index: count, ok: { const: true }, id: { type: 'string' } });

const rowFailed = wholeObject({
  index: count,
  ok: { const: false },
  error: wholeObject({
    code: { type: 'string', enum: ['NOT_FOUND', 'INVALID_INPUT', 'CONFLICT'] },
    message: { type: 'string' },
  }),
});

const rowReported = wholeObject({
  ...rowOk.properties,
  locationId: { type: 'string' },
  previous: { type: 'number', description: 'The level before the row.' },
  applied: { type: 'number', description: 'By how much the row changed it.' },
  level: { type: 'number', description: 'The level after the row.' },
  clamped: { type: 'boolean', description: 'Less than the wanted delta was applied: the level stops at zero.' },
});

const counts = { okCount: count, failedCount: count, skippedCount: count } as const;

/** `data` of the inventory update (spec §Inventory batch result). */
export const batchResultSchema = {
  title: 'BatchResult',
  ...wholeObject({ results: { type: 'array', items: { oneOf: [rowOk, rowFailed] } }, ...counts }),
} as const;

/** As `batchResultSchema`, for `Prefer: return=representation` and for a dry run (contract §7). */
export const reportedBatchResultSchema = {
  title: 'ReportedBatchResult',
  ...wholeObject({ results: { type: 'array', items: { oneOf: [rowReported, rowFailed] } }, ...counts }),
} as const;

export type BatchResultBody = FromSchema<typeof batchResultSchema>;

import type { FromSchema } from 'json-schema-to-ts';

const count = { type: 'integer', minimum: 0 } as const;

const rowOk = {
  type: 'object',
  required: ['index', 'ok', 'id'],
  properties: { index: count, ok: { const: true }, id: { type: 'string' } },
  additionalProperties: false,
} as const;

const rowFailed = {
  type: 'object',
  required: ['index', 'ok', 'error'],
  properties: {
    index: count,
    ok: { const: false },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string', enum: ['NOT_FOUND', 'INVALID_INPUT', 'CONFLICT'] },
        message: { type: 'string' },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
} as const;

const rowReported = {
  ...rowOk,
  required: [...rowOk.required, 'locationId', 'previous', 'applied', 'level', 'clamped'],
  properties: {
    ...rowOk.properties,
    locationId: { type: 'string' },
    previous: { type: 'number', description: 'The level before the row.' },
    applied: { type: 'number', description: 'By how much the row changed it.' },
    level: { type: 'number', description: 'The level after the row.' },
    clamped: { type: 'boolean', description: 'Less than the wanted delta was applied: the level stops at zero.' },
  },
} as const;

const counts = { okCount: count, failedCount: count, skippedCount: count } as const;
const required = ['results', 'okCount', 'failedCount', 'skippedCount'] as const;

/** `data` of the inventory update (spec §Inventory batch result). */
export const batchResultSchema = {
  title: 'BatchResult',
  type: 'object',
  required,
  properties: { results: { type: 'array', items: { oneOf: [rowOk, rowFailed] } }, ...counts },
  additionalProperties: false,
} as const;

/** As `batchResultSchema`, for `Prefer: return=representation` and for a dry run (contract §7). */
export const reportedBatchResultSchema = {
  ...batchResultSchema,
  title: 'ReportedBatchResult',
  properties: { results: { type: 'array', items: { oneOf: [rowReported, rowFailed] } }, ...counts },
} as const;

export type BatchResultBody = FromSchema<typeof batchResultSchema>;

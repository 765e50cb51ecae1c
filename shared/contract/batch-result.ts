import type { FromSchema } from 'json-schema-to-ts';

const count = { type: 'integer', minimum: 0 } as const;

/** `data` of the inventory update (spec §Inventory batch result). */
export const batchResultSchema = {
  title: 'BatchResult',
  type: 'object',
  required: ['results', 'okCount', 'failedCount', 'skippedCount'],
  properties: {
    results: {
      type: 'array',
      items: {
        oneOf: [
          {
            type: 'object',
            required: ['index', 'ok', 'id'],
            properties: { index: count, ok: { const: true }, id: { type: 'string' } },
            additionalProperties: false,
          },
          {
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
          },
        ],
      },
    },
    okCount: count,
    failedCount: count,
    skippedCount: count,
  },
  additionalProperties: false,
} as const;

export type BatchResultBody = FromSchema<typeof batchResultSchema>;

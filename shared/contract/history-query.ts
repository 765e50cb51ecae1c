import type { FromSchema } from 'json-schema-to-ts';

/** The query of the history (contract §7). */
export const historyQuerySchema = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 250, default: 50, description: 'Entries a page.' },
    cursor: {
      type: 'string',
      maxLength: 64,
      format: 'text',
      description: '`nextCursor` of the page before, with the same filters.',
    },
    locationId: { type: 'string', minLength: 1, maxLength: 255, format: 'text', description: 'Only this location.' },
    requestId: {
      type: 'string',
      maxLength: 36,
      format: 'uuid',
      description: 'Only what this request changed; it settles an OUTCOME_UNKNOWN of a change of stock.',
    },
    from: {
      type: 'string',
      format: 'moment',
      description: 'Not before this time, which has its offset; a date is its first millisecond in UTC.',
    },
    to: {
      type: 'string',
      format: 'moment',
      description: 'Not after this time, which has its offset; a date is its last millisecond in UTC.',
    },
  },
  additionalProperties: true,
} as const;

export type HistoryQuery = FromSchema<typeof historyQuerySchema, { keepDefaultedPropertiesOptional: true }>;

import type { FromSchema } from 'json-schema-to-ts';

/** The query of the inventory update (contract §7); any other parameter is refused. */
export const batchQuerySchema = {
  type: 'object',
  properties: {
    dryRun: {
      type: 'boolean',
      default: false,
      description: 'Answers what would have happened, as with Prefer: return=representation, and applies nothing.',
    },
  },
  additionalProperties: false,
} as const;

export type BatchQuery = FromSchema<typeof batchQuerySchema, { keepDefaultedPropertiesOptional: true }>;

import type { FromSchema } from 'json-schema-to-ts';

/** The query of the single read (contract §1). */
export const materialQuerySchema = {
  type: 'object',
  properties: {
    includeConnections: {
      type: 'boolean',
      default: false,
      description: 'Adds `connections`: the bills of materials and sub-assemblies that use the material.',
    },
  },
  additionalProperties: true,
} as const;

export type MaterialQuery = FromSchema<typeof materialQuerySchema, { keepDefaultedPropertiesOptional: true }>;

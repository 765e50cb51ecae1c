import type { FromSchema } from 'json-schema-to-ts';

/** The query of the inventory read (spec §GET inventory read, contract §2). */
export const inventoryQuerySchema = {
  type: 'object',
  properties: {
    locationIds: {
      type: 'array',
      maxItems: 250,
      items: { type: 'string', format: 'text' },
      description: 'Only these locations; repeat the parameter. Those the shop does not have are left out.',
    },
  },
  additionalProperties: true,
} as const;

export type InventoryQuery = FromSchema<typeof inventoryQuerySchema>;

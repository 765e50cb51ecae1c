import type { FromSchema } from 'json-schema-to-ts';

/** `data` of the inventory read (contract §2 "Inventory read"). */
export const inventoryLevelsSchema = {
  title: 'InventoryLevels',
  type: 'object',
  required: ['variantId', 'origin', 'totalQuantity', 'levels'],
  properties: {
    variantId: { type: 'string' },
    origin: { type: 'string', enum: ['platform', 'virtual'] },
    totalQuantity: { type: 'number', description: 'Over all locations, whatever the filter.' },
    levels: {
      type: 'array',
      description: 'Sorted by locationId.',
      items: {
        type: 'object',
        required: ['locationId', 'quantity', 'updatedAt'],
        properties: {
          locationId: { type: 'string' },
          quantity: { type: 'number' },
          updatedAt: {
            type: ['string', 'null'],
            format: 'date-time',
            description: 'null where nothing was ever booked.',
          },
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
} as const;

export type InventoryLevels = FromSchema<typeof inventoryLevelsSchema>;

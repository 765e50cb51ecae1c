import type { FromSchema } from 'json-schema-to-ts';
import { wholeObject } from './whole-object.js';

/** `data` of the inventory read (contract §2 "Inventory read"). */
export const inventoryLevelsSchema = {
  title: 'InventoryLevels',
  ...wholeObject({
    variantId: { type: 'string' },
    origin: { type: 'string', enum: ['platform', 'virtual'] },
    totalQuantity: { type: 'number', description: 'Over all locations, whatever the filter.' },
    levels: {
      type: 'array',
      description: 'Sorted by locationId.',
      items: wholeObject({
        locationId: { type: 'string' },
        quantity: { type: 'number' },
        updatedAt: {
          type: ['string', 'null'],
          format: 'date-time',
          description: 'null where nothing was ever booked.',
        },
      }),
    },
  }),
} as const;

export type InventoryLevels = FromSchema<typeof inventoryLevelsSchema>;

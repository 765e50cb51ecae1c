import { inventoryLevelsSchema } from '../../../shared/contract/inventory-levels.js';
import { inventoryQuerySchema } from '../../../shared/contract/inventory-query.js';
import type { InventoryQuery } from '../../../shared/contract/inventory-query.js';
import { answered } from '../../operations/dispatch-answer.js';
import { readLevels } from '../../operations/read-levels.js';
import { readArguments } from '../arguments.js';
import { createTool } from '../tool.js';

/** GET /v1/raw-materials/{variantId}/inventory as a tool. */
export const getInventory = createTool<{ variantId: string } & InventoryQuery>({
  name: 'get_inventory',
  title: 'Get stock by location',
  description:
    'How much of one raw material there is at each location where it has a level, and in all. For a material of the ' +
    'commerce platform the figures are read live from there (UPSTREAM_ERROR when it does not answer).',
  scope: 'read',
  idempotent: true,
  input: readArguments({
    locationIds: {
      ...inventoryQuerySchema.properties.locationIds,
      description:
        'Only these locations; those the shop does not have are left out. Empty or left out: all that have a level.',
    },
  }),
  output: inventoryLevelsSchema,
  run: async (services, caller, { variantId, locationIds }) =>
    answered(await readLevels(services, caller, { variantId, locationIds })),
});

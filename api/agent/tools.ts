import type { Tool } from './tool.js';
import { adjustInventory } from './tools/adjust-inventory.js';
import { getInventory } from './tools/get-inventory.js';
import { getInventoryHistory } from './tools/get-inventory-history.js';
import { getRawMaterial } from './tools/get-raw-material.js';
import { listRawMaterials } from './tools/list-raw-materials.js';
import { updateRawMaterial } from './tools/update-raw-material.js';

/** Each is the twin of a route of REST and calls the same operation (contract §1 `/mcp`). */
export const tools: readonly Tool[] = [
  listRawMaterials,
  getRawMaterial,
  getInventory,
  getInventoryHistory,
  updateRawMaterial,
  adjustInventory,
];

import type { InventoryRow } from '../../shared/contract/inventory-batch.js';
import type { MaterialChangesBody } from '../../shared/contract/material-changes.js';

/** Bodies that a test sends to the running service; the examples of replies are what it answered. */
export const requestExamples = {
  materialChanges: {
    summary: 'A new cost, and no vendor any more',
    value: { unitCost: 5.02, vendor: null } satisfies MaterialChangesBody,
  },
  adjustments: {
    summary: 'Three rows, of which the last names a location that the shop does not have',
    value: {
      updates: [
        { locationId: '70001', delta: -12.5, reason: 'Poured', reference: 'batch 118' },
        { locationId: '70002', delta: -500 },
        { locationId: '79999', delta: 1 },
      ],
    } satisfies { updates: InventoryRow[] },
  },
  stockTake: {
    summary: 'A stock-take: safe to send again while nobody else changes these levels, or with an Idempotency-Key',
    value: {
      updates: [
        { locationId: '70001', absolute: 71.75, reason: 'Stock-take' },
        { locationId: '70002', absolute: 12.25, reason: 'Stock-take' },
      ],
    } satisfies { updates: InventoryRow[] },
  },
} as const;

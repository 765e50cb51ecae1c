import type { Database } from '../../../shared/database/connect.js';
import { applyOperations } from '../../../shared/inventory/apply-operations.js';
import type { OpeningLevel } from '../../../shared/inventory/opening-stock.js';
import { operationOf } from './shop.js';

export interface BookedStock {
  materialId: string;
  levels: readonly OpeningLevel[];
}

/** As many as a worker's cycle takes. */
const materialsPerCycle = 32;

/**
 * Sets levels of virtual materials through the apply step, so that the ledger has them like any other change.
 *
 * @param database opened with `pipeline: true`
 * @throws if a row was not booked
 */
export async function bookStock(database: Database, shopId: number, stocks: readonly BookedStock[]): Promise<void> {
  for (let start = 0; start < stocks.length; start += materialsPerCycle) {
    const groups = stocks.slice(start, start + materialsPerCycle).map(({ materialId, levels }) => {
      const rows = levels.map(({ locationId, quantity }) => ({ locationId, absolute: quantity }));
      return { shopId, materialId, operations: [operationOf({ kind: 'adjust', rows }, { channel: 'cli' })] };
    });
    const { outcomes } = await applyOperations(database, groups, { nowMs: Date.now });
    for (const { materialId, operations } of groups) {
      const outcome = outcomes.get(operations[0]?.id ?? '');
      const result = outcome?.status === 'executed' ? outcome.result : undefined;
      if (result?.kind !== 'adjusted' || result.failures.length > 0) {
        throw new Error(`the stock of ${materialId} was not booked: ${JSON.stringify(outcome)}`);
      }
    }
  }
}

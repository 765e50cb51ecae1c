import { checkLedger } from '../../shared/database/ledger-check.js';
import { connectDatabase } from '../../shared/database/connect.js';
import { fromDecimal, toDecimal, toMicros } from '../../shared/domain/quantity.js';
import { levelsOf, openingUnits } from './bench-database.js';
import type { Catalogue } from './catalogue.js';

/** Holds every level of a design's database against what its clients were told was done: no design may cheat. */
export interface LevelCheck {
  /** @param units by material, added at each of the first `rows` locations */
  acknowledge(acknowledged: readonly [material: number, units: number][], rows: number): void;
  /** @returns a sentence for each thing that is wrong, the first few; none where all is right */
  problems(options: { withLedger: boolean }): Promise<string[]>;
  close(): Promise<void>;
}

const problemsMax = 5;

export function createLevelCheck(url: string, { shopId, materialIds, locationIds }: Catalogue): LevelCheck {
  const database = connectDatabase({ url, poolMax: 1, applicationName: 'raw-materials-bench-check' });
  const expected = new Map<string, number>();
  const nameOf = (materialId: string | undefined, locationId: string | undefined) => `${materialId} ${locationId}`;
  materialIds.forEach((materialId, material) => {
    for (const locationId of locationIds.slice(0, levelsOf(material))) {
      expected.set(nameOf(materialId, locationId), toMicros(openingUnits));
    }
  });

  return {
    acknowledge(acknowledged, rows) {
      for (const [material, units] of acknowledged) {
        for (const locationId of locationIds.slice(0, rows)) {
          const name = nameOf(materialIds[material], locationId);
          expected.set(name, (expected.get(name) ?? 0) + toMicros(units));
        }
      }
    },
    async problems({ withLedger }) {
      const rows = await database('levels')
        .where({ shop_id: shopId })
        .select<{ material_id: string; location_id: string; quantity: string }[]>(
          'material_id',
          'location_id',
          'quantity',
        );
      const found = rows.flatMap(({ material_id, location_id, quantity }) => {
        const wanted = expected.get(nameOf(material_id, location_id));
        if (wanted === fromDecimal(quantity)) return [];
        return [
          `level ${material_id} at ${location_id} is ${quantity}, by what was acknowledged it is ${wanted === undefined ? 'not there' : toDecimal(wanted)}`,
        ];
      });
      if (rows.length !== expected.size) found.push(`${rows.length} levels instead of ${expected.size}`);
      if (withLedger) {
        const { mismatchCount, mismatches } = await checkLedger(database, { shopId });
        if (mismatchCount > 0)
          found.push(`the ledger disagrees ${mismatchCount} times: ${JSON.stringify(mismatches[0])}`);
      }
      return found.slice(0, problemsMax);
    },
    close: () => database.destroy(),
  };
}

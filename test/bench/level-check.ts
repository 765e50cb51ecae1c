import { checkLedger } from '../../shared/database/ledger-check.js';
import { connectDatabase } from '../../shared/database/connect.js';
import { fromDecimal, toDecimal, toMicros } from '../../shared/domain/quantity.js';
import type { Gain } from '../load/gains.js';
import type { BenchCatalogue } from './catalogue.js';

/** Holds every level of a design's database against what its clients were told was done: no design may cheat. */
export interface LevelCheck {
  acknowledge(gains: readonly Gain[]): void;
  /** @returns a sentence for each thing that is wrong, the first few; none where all is right */
  problems(options: { withLedger: boolean }): Promise<string[]>;
  close(): Promise<void>;
}

/** What a level must be, in millionths; the two differ if a change has no answer that settles it. */
interface Expected {
  low: number;
  high: number;
}

const problemsMax = 5;

/** Takes the levels as they are now for what they must be, and adds what is acknowledged from here on. */
export async function createLevelCheck(
  url: string,
  { shopId, materialIds, locationIds }: BenchCatalogue,
): Promise<LevelCheck> {
  const database = connectDatabase({ url, poolMax: 1, applicationName: 'raw-materials-bench-check' });
  const nameOf = (materialId: string | undefined, locationId: string | undefined) => `${materialId} ${locationId}`;
  const readLevels = () =>
    database('levels')
      .where({ shop_id: shopId })
      .select<{ material_id: string; location_id: string; quantity: string }[]>(
        'material_id',
        'location_id',
        'quantity',
      );
  const expected = new Map<string, Expected>();
  for (const { material_id, location_id, quantity } of await readLevels()) {
    expected.set(nameOf(material_id, location_id), { low: fromDecimal(quantity), high: fromDecimal(quantity) });
  }

  return {
    acknowledge(gains) {
      for (const { material, row, acknowledged, open } of gains) {
        const name = nameOf(materialIds[material], locationIds[row]);
        const { low, high } = expected.get(name) ?? { low: 0, high: 0 };
        expected.set(name, { low: low + toMicros(acknowledged), high: high + toMicros(acknowledged + open) });
      }
    },
    async problems({ withLedger }) {
      const rows = await readLevels();
      const found = rows.flatMap(({ material_id, location_id, quantity }) => {
        const wanted = expected.get(nameOf(material_id, location_id));
        const level = fromDecimal(quantity);
        if (wanted !== undefined && level >= wanted.low && level <= wanted.high) return [];
        return [
          `level ${material_id} at ${location_id} is ${quantity}, by what was acknowledged it is ${textOf(wanted)}`,
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

function textOf(wanted: Expected | undefined): string {
  if (wanted === undefined) return 'not there';
  const { low, high } = wanted;
  return low === high ? toDecimal(low) : `between ${toDecimal(low)} and ${toDecimal(high)}`;
}

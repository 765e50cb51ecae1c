import { toDecimal, toMicros } from '../../shared/domain/quantity.js';
import type { Catalogue } from './catalogue.js';
import type { Gain } from './gains.js';
import type { Standing } from './generator/accounts.js';
import type { ServiceClient } from './service-client.js';

export interface LevelReport {
  /** Levels that were held against what was acknowledged. */
  levels: number;
  /** Units acknowledged over all of them, and units whose outcome nobody knows. */
  acknowledged: number;
  open: number;
  /** A sentence for each level that is wrong, the first few. */
  problems: string[];
  wrong: number;
}

/** The levels of the materials that take part, as they were before the load. */
export interface LevelBook {
  /** Holds one level against what was acknowledged so far, in the middle of the load. */
  probe(material: number, standing: () => Promise<Standing>): Promise<string | undefined>;
  /** Holds every level that the load named against the gains; one that other clients changed too shows as wrong. */
  reconcile(gains: readonly Gain[]): Promise<LevelReport>;
}

const problemsMax = 5;
const readsAtOnce = 8;

export async function openLevelBook(
  client: ServiceClient,
  { materialIds, locationIds }: Catalogue,
  materials: number,
): Promise<LevelBook> {
  const before = await readAll(client, materialIds.slice(0, materials));
  const atFirst = (material: number, row: number) => before[material]?.get(locationIds[row] ?? '') ?? 0;
  const fault = (material: number, row: number, level: number, low: number, high: number) => {
    const wanted = low === high ? toDecimal(low) : `between ${toDecimal(low)} and ${toDecimal(high)}`;
    return `the level of ${materialIds[material]} at ${locationIds[row]} is ${toDecimal(level)}; by what was acknowledged it is ${wanted}`;
  };
  return {
    async probe(material, standing) {
      // What was acknowledged before the read must be in it, and what was sent before its end may be.
      const { acknowledged } = await standing();
      const level = (await client.readLevels(materialIds[material] ?? '')).get(locationIds[0] ?? '') ?? 0;
      const after = await standing();
      const low = atFirst(material, 0) + toMicros(acknowledged);
      const high = atFirst(material, 0) + toMicros(after.acknowledged + after.open);
      return level >= low && level <= high ? undefined : fault(material, 0, level, low, high);
    },
    async reconcile(gains) {
      const named = [...new Set(gains.map(({ material }) => material))];
      const levels = await readAll(
        client,
        named.map((material) => materialIds[material] ?? ''),
      );
      const after = new Map(named.map((material, index) => [material, levels[index]]));
      const problems = gains.flatMap(({ material, row, acknowledged, open }) => {
        const level = after.get(material)?.get(locationIds[row] ?? '') ?? 0;
        const low = atFirst(material, row) + toMicros(acknowledged);
        const high = low + toMicros(open);
        return level >= low && level <= high ? [] : [fault(material, row, level, low, high)];
      });
      return {
        levels: gains.length,
        acknowledged: gains.reduce((sum, gain) => sum + gain.acknowledged, 0),
        open: gains.reduce((sum, gain) => sum + gain.open, 0),
        problems: problems.slice(0, problemsMax),
        wrong: problems.length,
      };
    },
  };
}

async function readAll(client: ServiceClient, ids: readonly string[]): Promise<Map<string, number>[]> {
  const levels: Map<string, number>[] = [];
  for (let start = 0; start < ids.length; start += readsAtOnce) {
    levels.push(...(await Promise.all(ids.slice(start, start + readsAtOnce).map((id) => client.readLevels(id)))));
  }
  return levels;
}

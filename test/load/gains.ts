import type { LoadResult } from './generator/load-run.js';
import type { Scenario } from './scenario.js';

/** What a level must have gained: at least what was acknowledged, at most that and what is open. */
export interface Gain {
  /** Index of the material. */
  material: number;
  /** Index of the location. */
  row: number;
  acknowledged: number;
  open: number;
}

/** What all the changes that were sent come to, a line for each level they named. */
export function gainsOf(results: readonly LoadResult[], { mix }: Scenario): Gain[] {
  const gains = new Map<string, Gain>();
  const add = (material: number, row: number, acknowledged: number, open: number) => {
    const name = `${material} ${row}`;
    const gain = gains.get(name) ?? { material, row, acknowledged: 0, open: 0 };
    gains.set(name, gain);
    gain.acknowledged += acknowledged;
    gain.open += open;
  };
  for (const { accounts, missed } of results) {
    for (const { kind, material, acknowledged, open } of accounts) {
      const ask = mix[kind];
      const rows = ask?.ask === 'adjust' ? ask.rows : 0;
      for (let row = 0; row < rows; row += 1) add(material, row, acknowledged, open);
    }
    for (const { material, row, units } of missed) add(material, row, -units, 0);
  }
  return [...gains.values()];
}

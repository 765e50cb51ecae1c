import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readOutputPath } from '../../load/output-path.js';
import { readNumber } from '../options.js';

export interface ListBenchOptions {
  /** Materials of the one shop, and of the other. */
  small: number;
  large: number;
  /** How often each page is asked for. */
  rounds: number;
  jsonPath: string;
}

const defaults = { small: 10_000, large: 1_000_000, rounds: 5 };
const materialsMax = 10_000_000;

export const usage = `npm run bench:list -- [options]
  --small <number>   materials of the one shop (${defaults.small})
  --large <number>   materials of the other (${defaults.large})
  --rounds <number>  how often each page is asked for (${defaults.rounds})
  --json <path>      where the figures go (default: a file in the folder for temporary files)`;

/** @throws with a sentence for the person who typed it */
export function readListOptions(args: string[]): ListBenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      small: { type: 'string' },
      large: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string' },
    },
  });
  return {
    small: readNumber('--small', values.small, materialsMax) ?? defaults.small,
    large: readNumber('--large', values.large, materialsMax) ?? defaults.large,
    rounds: readNumber('--rounds', values.rounds) ?? defaults.rounds,
    jsonPath: readOutputPath('--json', values.json ?? join(tmpdir(), 'raw-materials-bench-list.json')),
  };
}

import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { designNames } from './designs.js';
import type { DesignName } from './designs.js';
import { scenarioNames } from './scenarios.js';
import type { ScenarioName } from './scenarios.js';

export interface BenchOptions {
  isQuick: boolean;
  scenarios: ScenarioName[];
  designs: DesignName[];
  rounds: number;
  measureMs: number;
  warmupMs: number;
  /** The window in which each size of a pool is tried. */
  sweepMs: number;
  workers: number;
  jsonPath: string;
}

export const usage = `npm run bench -- [options]
  --quick              HOT, SPREAD and one connection against d and d′, in two to three minutes
  --scenario <names>   ${scenarioNames.join(',')}; all by default
  --designs <names>    ${designNames.join(',')}; all that a scenario knows by default
  --seconds <number>   the window of a round (8; quick: 3)
  --rounds <number>    rounds of each design and scenario, in turn (3)
  --workers <number>   worker processes (1)
  --json <path>        where the figures go (default: a file in the folder for temporary files)`;

const msASecond = 1_000;
const quickScenarios: ScenarioName[] = ['HOT', 'SPREAD', 'LONE'];
const quickDesigns: DesignName[] = ['ours', 'd', 'dPrime', 'd1Prime'];
const numberMax = 600;

/** @throws with a sentence for the person who typed it */
export function readOptions(args: string[], now: Date): BenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      scenario: { type: 'string' },
      designs: { type: 'string' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      workers: { type: 'string' },
      json: { type: 'string' },
    },
  });
  const isQuick = values.quick;
  const file = `raw-materials-bench-${now.toISOString().replaceAll(/[:.]/g, '-')}.json`;
  return {
    isQuick,
    scenarios: readNames('--scenario', values.scenario, scenarioNames) ?? (isQuick ? quickScenarios : scenarioNames),
    designs: readNames('--designs', values.designs, designNames) ?? (isQuick ? quickDesigns : designNames),
    rounds: readNumber('--rounds', values.rounds) ?? 3,
    measureMs: (readNumber('--seconds', values.seconds) ?? (isQuick ? 3 : 8)) * msASecond,
    warmupMs: isQuick ? 700 : 1_500,
    sweepMs: isQuick ? 1_000 : 2_000,
    workers: readNumber('--workers', values.workers) ?? 1,
    jsonPath: values.json === undefined ? join(tmpdir(), file) : resolve(values.json),
  };
}

function readNames<T extends string>(option: string, text: string | undefined, known: readonly T[]): T[] | undefined {
  if (text === undefined) return undefined;
  return text.split(',').map((name) => {
    const found = known.find((one) => one.toLowerCase() === name.trim().toLowerCase());
    if (found === undefined) throw new Error(`${option}: ${name} is none of ${known.join(', ')}`);
    return found;
  });
}

function readNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > numberMax) {
    throw new Error(`${option} takes a whole number from 1 to ${numberMax}`);
  }
  return value;
}

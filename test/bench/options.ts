import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readOutputPath } from '../load/output-path.js';
import { designNames } from './designs.js';
import type { DesignName } from './designs.js';
import { scenarioNames, scenarios } from './scenarios.js';
import type { ScenarioName } from './scenarios.js';

/** What a run is made of, in the order in which it is run. */
export const partNames = [
  'rounds',
  'connections',
  'workers',
  'apis',
  'open',
  'hops',
  'present',
  'retention',
  'fairness',
  'overload',
  'locked',
] as const;
export type PartName = (typeof partNames)[number];

export interface BenchOptions {
  isQuick: boolean;
  parts: PartName[];
  scenarios: ScenarioName[];
  designs: DesignName[];
  rounds: number;
  measureMs: number;
  warmupMs: number;
  /** The window in which each size of a pool is tried. */
  sweepMs: number;
  /** Worker processes; the first figure is that of every part but `workers`, which tries all. */
  workers: number[];
  /** Numbers of connections that the part of that name tries; a single one is for the rounds instead. */
  connections: number[];
  /** Operations and ledger rows of the part `present`. */
  present: number;
  jsonPath: string;
  htmlPath: string;
}

export const usage = `npm run bench -- [options]
  --quick              HOT, SPREAD and one connection against d and d′, in about two minutes (whole: 16 to 18)
  --scenario <names>   ${scenarioNames.join(',')}; all by default
  --designs <names>    ${designNames.join(',')}; all that a scenario knows by default
  --seconds <number>   the window of a round (4; quick: 3)
  --rounds <number>    rounds of each design and scenario, in turn (3)
  --workers <numbers>  worker processes (1; the part workers tries 1,2,4)
  --connections <n>    one number: of the rounds (64); several: what the part connections tries (1,8,64,256)
  --parts <names>      ${partNames.join(',')};
                       by default the first six; quick, or with --scenario or --designs: the rounds
  --present <number>   operations and ledger rows that the part present fills in (5000000), and that part
  --json <path>        where the figures go (default: a file in the folder for temporary files)
  --html <path>        where the page with the plots goes (default: beside the figures)`;

const msASecond = 1_000;
const quickScenarios: ScenarioName[] = ['HOT', 'SPREAD', 'LONE'];
const quickDesigns: DesignName[] = ['ours', 'd', 'dPrime'];
const wholeParts: PartName[] = ['rounds', 'connections', 'workers', 'apis', 'open', 'hops'];
/** What the parts are about that do not take every design. The hops start a service of their own. */
const designsOfPart: Partial<Record<PartName, DesignName[]>> = {
  connections: ['ours', 'dPrime'],
  workers: ['ours'],
  apis: ['ours'],
  open: ['ours', 'dPrime'],
  present: ['ours'],
  retention: ['ours'],
  fairness: ['ours'],
  overload: ['ours'],
  locked: ['ours'],
};
const numberMax = 600;
const presentMax = 50_000_000;
const defaults = { workers: [1, 2, 4], connections: [1, 8, 64, 256], present: 5_000_000, rounds: 3 };

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
      connections: { type: 'string' },
      parts: { type: 'string' },
      present: { type: 'string' },
      json: { type: 'string' },
      html: { type: 'string' },
    },
  });
  const isQuick = values.quick;
  const workers = readNumbers('--workers', values.workers, numberMax);
  const connections = readNumbers('--connections', values.connections, numberMax);
  const present = readNumber('--present', values.present, presentMax);
  const isNarrow = isQuick || values.scenario !== undefined || values.designs !== undefined;
  const asked = new Set<PartName>(readNames('--parts', values.parts, partNames) ?? []);
  if (asked.size === 0 && present === undefined)
    for (const part of isNarrow ? ['rounds' as const] : wholeParts) asked.add(part);
  if (workers !== undefined && workers.length > 1) asked.add('workers');
  if (connections !== undefined && connections.length > 1) asked.add('connections');
  if (present !== undefined) asked.add('present');
  const parts = partNames.filter((part) => asked.has(part));
  const names = readNames('--scenario', values.scenario, scenarioNames) ?? (isQuick ? quickScenarios : scenarioNames);
  const designs = readNames('--designs', values.designs, designNames) ?? (isQuick ? quickDesigns : designNames);
  requireDesigns(parts, names, designs);
  const file = join(tmpdir(), `raw-materials-bench-${now.toISOString().replaceAll(/[:.]/g, '-')}.json`);
  const jsonPath = readOutputPath('--json', values.json ?? file);
  return {
    isQuick,
    parts,
    scenarios: names,
    designs,
    rounds: readNumber('--rounds', values.rounds) ?? defaults.rounds,
    measureMs: (readNumber('--seconds', values.seconds) ?? (isQuick ? 3 : 4)) * msASecond,
    warmupMs: isQuick ? 700 : 1_000,
    sweepMs: isQuick ? 600 : 1_000,
    workers: workers ?? defaults.workers,
    connections: connections ?? defaults.connections,
    present: present ?? defaults.present,
    jsonPath,
    htmlPath: readOutputPath('--html', values.html ?? `${jsonPath.replace(/\.json$/, '')}.html`),
  };
}

/** A part without a design to measure would end with an empty table, or fail when all is started. */
function requireDesigns(parts: PartName[], names: ScenarioName[], designs: DesignName[]): void {
  const known = designNames.filter((design) => names.some((name) => scenarios[name].designs.includes(design)));
  if (!designs.some((design) => known.includes(design))) {
    throw new Error(
      `--designs: ${names.join(', ')} can be run with ${known.join(', ')}, not with ${designs.join(', ')}`,
    );
  }
  for (const part of parts) {
    const wanted = designsOfPart[part];
    if (wanted !== undefined && !wanted.some((design) => designs.includes(design)))
      throw new Error(`--designs: the part ${part} is about ${wanted.join(' and ')}, not about ${designs.join(', ')}`);
  }
}

function readNames<T extends string>(option: string, text: string | undefined, known: readonly T[]): T[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(',').map((name) => {
    const found = known.find((one) => one.toLowerCase() === name.trim().toLowerCase());
    if (found === undefined) throw new Error(`${option}: ${name} is none of ${known.join(', ')}`);
    return found;
  });
  return [...new Set(names)];
}

function readNumbers(option: string, text: string | undefined, most: number): number[] | undefined {
  if (text === undefined) return undefined;
  const numbers = text.split(',').map((part) => {
    const value = Number(part);
    if (part.trim() === '' || !Number.isInteger(value) || value < 1 || value > most) {
      throw new Error(`${option} takes whole numbers from 1 to ${most}`);
    }
    return value;
  });
  return [...new Set(numbers)];
}

/** @throws with a sentence for the person who typed it */
export function readNumber(option: string, text: string | undefined, most = numberMax): number | undefined {
  const [value, ...more] = readNumbers(option, text, most) ?? [];
  if (more.length > 0) throw new Error(`${option} takes one number`);
  return value;
}

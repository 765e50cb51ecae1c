import { parseArgs } from 'node:util';
import { loadMaxOf, readLoadShape } from './load-shape.js';
import type { LoadShape } from './load-shape.js';
import { readOutputPath, standardOutput } from './output-path.js';
import { readScenario } from './read-scenario.js';
import { scenarioNames } from './scenario.js';
import type { Scenario } from './scenario.js';
import { readThreshold, thresholdFigures } from './thresholds.js';
import type { Threshold } from './thresholds.js';

export interface LoadOptions {
  /** Undefined: the running demo's. */
  url: string | undefined;
  key: string | undefined;
  scenarioName: string;
  scenario: Scenario;
  loop: 'closed' | 'open';
  shape: LoadShape;
  connectionsMax: number;
  measureMs: number;
  warmupMs: number;
  requestsMax: number;
  answerMsMax: number;
  materialsMax: number;
  /** Undefined: the demo's, or those at which the first material has a level. */
  locationIds: string[] | undefined;
  processes: number;
  seed: number;
  thresholds: Threshold[];
  /** Or `standardOutput`. */
  jsonPath: string | undefined;
  htmlPath: string | undefined;
}

const connectionsMax = 4_000;
const rateMax = 100_000;
const secondsMax = 3_600;
const msASecond = 1_000;
const defaults = {
  connections: '64',
  openConnections: '256',
  seconds: 10,
  warmup: 1,
  requests: 1_000_000,
  timeout: 30,
  materials: 1_000,
} as const;

export const loadUsage = `npm run load -- [options]
  --url <address>         the service, as http://host:3000/v1 (default: the one of npm start, by .data/demo.json)
  --key <key>             a write key with a limit that the load does not reach; or LOAD_KEY in the environment
  --scenario <name>       ${scenarioNames.join(', ')}, or a JSON file (its shape: test/load/read-scenario.ts); HOT
  --connections <load>    a closed loop of so many connections: 64, 1..256 (a ramp) or 1,8,64 (steps); ${defaults.connections}
  --rate <load>           an open loop: requests due at so many a second, as above; over at most --connections (${defaults.openConnections})
  --seconds <n>           how long in all (${defaults.seconds}), after a --warmup <n> (${defaults.warmup}; with --requests: 0)
  --requests <n>          no more than so many (${defaults.requests})
  --timeout <seconds>     an answer that takes longer counts as lost (${defaults.timeout})
  --materials <n>         how many materials take part at most, of those the shop lists (${defaults.materials}); HOT has one, BATCH 100
  --locations <ids>       where, separated by commas (default: the demo's, or where the first material has a level)
  --processes <n>         how many make the load (1)
  --seed <n>              of the choice of materials (1)
  --must <threshold>      'p99<50' and the like, several times; a missed one, or a latency that
                          nothing was measured of, gives exit code 2. Of
                          ${thresholdFigures.join(',\n                          ')},
                          status503 and the like (how often that answer came)
  --json <file>, --html <file>   the figures (to - : alone on stdout), and one page with plots that needs nothing else

Exit code: 0 as wished, 1 a level is wrong or nothing succeeded, 2 a threshold was missed, 64 usage, 69 no service there
(at the end: the levels are not held against what was acknowledged), 74 a report could not be written.
Ctrl-C ends the load; the levels are checked and the report is written all the same.`;

/** @throws with a sentence for the person who typed it */
export function readLoadOptions(
  args: string[],
  environment: Readonly<Record<string, string | undefined>>,
): LoadOptions {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: 'string' },
      key: { type: 'string' },
      scenario: { type: 'string', default: 'HOT' },
      connections: { type: 'string' },
      rate: { type: 'string' },
      seconds: { type: 'string' },
      warmup: { type: 'string' },
      requests: { type: 'string' },
      timeout: { type: 'string' },
      materials: { type: 'string' },
      locations: { type: 'string' },
      processes: { type: 'string' },
      seed: { type: 'string' },
      must: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      html: { type: 'string' },
    },
  });
  const { name, scenario } = readScenario(values.scenario);
  const loop = values.rate === undefined ? 'closed' : 'open';
  const connectionsText = values.connections ?? (loop === 'open' ? defaults.openConnections : defaults.connections);
  const connections = readLoadShape('--connections', connectionsText, connectionsMax);
  if (loop === 'open' && connections.parts.some(({ from, to }) => from !== loadMaxOf(connections) || to !== from)) {
    throw new Error('--connections is one number beside --rate: the most connections at once.');
  }
  const jsonPath = values.json === undefined ? undefined : readJsonPath(values.json);
  const htmlPath = values.html === undefined ? undefined : readOutputPath('--html', values.html);
  if (jsonPath !== undefined && jsonPath === htmlPath) throw new Error('--json and --html would write the same file.');
  const processes = readNumber('--processes', values.processes, 1, 1, 16);
  if (processes > loadMaxOf(connections)) throw new Error('--processes: each needs a connection.');
  return {
    url: values.url === undefined ? undefined : readUrl(values.url),
    key: values.key ?? (environment['LOAD_KEY'] || undefined),
    scenarioName: name,
    scenario,
    loop,
    shape: values.rate === undefined ? connections : readLoadShape('--rate', values.rate, rateMax),
    connectionsMax: loadMaxOf(connections),
    measureMs: readNumber('--seconds', values.seconds, defaults.seconds, 1, secondsMax) * msASecond,
    warmupMs:
      readNumber('--warmup', values.warmup, values.requests === undefined ? defaults.warmup : 0, 0, secondsMax) *
      msASecond,
    requestsMax: readNumber('--requests', values.requests, defaults.requests, 1, 1_000_000_000),
    answerMsMax: readNumber('--timeout', values.timeout, defaults.timeout, 1, secondsMax) * msASecond,
    materialsMax: readNumber('--materials', values.materials, scenario.materials ?? defaults.materials, 1, 100_000),
    locationIds: readLocations(values.locations),
    processes,
    seed: readNumber('--seed', values.seed, 1, 0, 0xffff_ffff),
    thresholds: values.must.map(readThreshold),
    jsonPath,
    htmlPath,
  };
}

const readJsonPath = (path: string) => (path === standardOutput ? path : readOutputPath('--json', path));

function readUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new Error(`--url takes an http or https address, not ${text}.`);
  const url = new URL(text);
  // The API's address ends with this, but what one types is a bare origin.
  url.pathname = url.pathname.replace(/\/+$/, '') || '/v1';
  return url.href;
}

/** A location named twice would be changed twice by a request of two rows, and its level would count as wrong. */
function readLocations(text: string | undefined): string[] | undefined {
  const ids = text?.split(',').map((id) => id.trim());
  if (ids?.includes('') === true) throw new Error('--locations takes ids, separated by commas; one of them is empty.');
  if (new Set(ids).size < (ids?.length ?? 0)) throw new Error('--locations names one twice.');
  return ids;
}

function readNumber(option: string, text: string | undefined, absent: number, from: number, to: number): number {
  if (text === undefined) return absent;
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < from || value > to) {
    throw new Error(`${option} takes a whole number from ${from} to ${to}, not ${text}.`);
  }
  return value;
}

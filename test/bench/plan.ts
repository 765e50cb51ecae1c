import type { DesignName } from './designs.js';
import type { BenchOptions, PartName } from './options.js';
import { matrixOf, matrixRounds } from './parts/matrix.js';
import { openFractions } from './parts/open-loop.js';
import { newWindows, sweepMs, windowsBefore } from './pools.js';
import { scenarios, windowMs } from './scenarios.js';
import type { ScenarioName } from './scenarios.js';

/** A part of the run and about how long it will take. */
export interface PlannedPart {
  part: PartName;
  title: string;
  ms: number;
}

/** Starting, filling the database, copying it for each design, and checking the ledgers at the end. */
const startMs = 6_000;
const startMsADesign = 1_000;
const endMs = 8_000;
/** Around each window: a checkpoint, the drain, reading every level. */
const betweenMs = 500;

/** A request of 100 row transactions is on its way for seconds when a window ends. */
const slowDrainMs = 3_500;

/** What will be done, and about how long it takes. */
export function planBench(options: BenchOptions): { parts: PlannedPart[]; totalMs: number } {
  const parts = options.parts.map((part) => ({ part, ...partOf(part, options) }));
  const sum = parts.reduce((total, { ms }) => total + ms, 0);
  return { parts, totalMs: sum + startMs + endMs + options.designs.length * startMsADesign };
}

function partOf(part: PartName, options: BenchOptions): { title: string; ms: number } {
  const { rounds, workers, present, measureMs, warmupMs } = options;
  const roundMs = warmupMs + measureMs + betweenMs;
  const warmMs = newWindows * ((options.sweepMs * 4) / 3) + betweenMs;
  const matrix = matrixOf(options.scenarios).length;
  const pair = options.designs.includes('dPrime') ? 2 : 1;
  switch (part) {
    case 'rounds': {
      const names = options.scenarios.join(', ');
      return { title: `${names}: ${rounds} rounds of each design, in turn`, ms: roundsMs(options) };
    }
    case 'connections':
      return {
        title: `ours and d′ with ${options.connections.join(', ')} connections`,
        ms: connectionsToMeasure(options) * pair * matrixRounds * roundMs,
      };
    case 'workers':
      return {
        title: `ours with ${workers.join(', ')} workers`,
        ms: matrix * workers.length * (matrixRounds * roundMs + warmMs),
      };
    case 'apis':
      return { title: 'ours with 1 and 2 API processes', ms: matrix * (2 * matrixRounds * roundMs + 3 * warmMs) };
    case 'open':
      return {
        title: `open loop at ${openFractions.map((fraction) => `${fraction * 100} %`).join(', ')} of what a design can do`,
        ms: matrix * pair * openFractions.length * roundMs,
      };
    case 'hops':
      return { title: 'the hops of a lone request', ms: 9_000 };
    case 'present':
      return {
        title: `ours on a database with ${present} operations and ledger rows, beside ours on an empty one`,
        ms: (present / 50_000) * 1_000 + matrix * 2 * (rounds * roundMs + warmMs),
      };
    case 'retention':
      return { title: 'full load while old operations are deleted', ms: 100_000 + matrix * (4 * roundMs + warmMs) };
    case 'fairness':
      return { title: 'one shop beside another that asks for ten times its share', ms: 3_000 + rounds * 4 * roundMs };
    case 'overload':
      return { title: 'five times what it can do', ms: matrix * rounds * (2 * roundMs + 23_000) };
    case 'locked':
      return { title: 'another session holds a material', ms: rounds * (roundMs + 15_000) };
  }
}

/** Over all scenarios of the matrix; what the rounds have measured already is taken from them. */
function connectionsToMeasure({ parts, scenarios: asked, connections }: BenchOptions): number {
  const own = (scenario: ScenarioName) =>
    parts.includes('rounds') && connections.includes(scenarios[scenario].connections);
  return matrixOf(asked).reduce((sum, scenario) => sum + connections.length - (own(scenario) ? 1 : 0), 0);
}

function roundsMs(options: BenchOptions): number {
  return options.scenarios.reduce((total, scenario) => {
    const own = scenarios[scenario].designs.filter((design) => options.designs.includes(design));
    return total + own.reduce((sum, design) => sum + designMs(options, scenario, design), 0);
  }, 0);
}

function designMs(
  { rounds, warmupMs, measureMs, sweepMs: askedMs }: BenchOptions,
  scenario: ScenarioName,
  design: DesignName,
) {
  const tried = windowsBefore(design, scenario);
  const drainMs = scenario === 'BATCH' && design === 'd1Prime' ? slowDrainMs : betweenMs;
  const oneSweepMs = (sweepMs({ name: design }, scenario, askedMs) * 4) / 3 + drainMs;
  return tried * oneSweepMs + rounds * (warmupMs + windowMs(scenario, design, measureMs) + drainMs);
}

import { renderPage } from '../load/page/render-page.js';
import type { BarPlot, LinePlot, Section } from '../load/page/render-page.js';
import { redisLines, warnings } from './bench-report.js';
import type { BenchReport } from './bench-report.js';
import { designs } from './designs.js';
import type { Round } from './round.js';
import { scenarios } from './scenarios.js';
import type { ScenarioName } from './scenarios.js';
import { specialsText } from './specials-text.js';
import { summarise } from './summary.js';
import type { Summary } from './summary.js';
import { cpuTable, figuresTable, hopsTable, legend, ratiosTable, targetsTable } from './tables.js';

/** The report as one HTML page that needs nothing else. */
export function benchPage(report: BenchReport): string {
  const { machine, postgres, redisVersion, summaries, connections, workers, open, hops, specials } = report;
  const sections: Section[] = [];
  if (summaries.length > 0) {
    sections.push(
      { title: 'Must, aim and seen', table: targetsTable(summaries), lines: redisLines(report) },
      { title: 'Throughput by scenario', plots: [throughputBars(summaries)], table: figuresTable(summaries) },
      { title: 'Ours divided by the others', table: ratiosTable(summaries) },
      { title: 'Where the time goes: CPU for a request', table: cpuTable(summaries) },
      { title: 'Latency distributions', plots: namesOf(report.rounds).map((name) => percentiles(name, report.rounds)) },
    );
  }
  if (open.length > 0) {
    sections.push({
      title: 'Latency against load (open loop, from when a request was due)',
      plots: namesOf(open).map((name) => latencyAgainstLoad(name, open)),
      table: figuresTable(summarise(open)),
    });
  }
  if (connections.length > 0) sections.push({ title: 'By connections', table: figuresTable(summarise(connections)) });
  if (workers.length > 0) sections.push({ title: 'By worker processes', table: figuresTable(summarise(workers)) });
  if (hops !== undefined) {
    const lines = [`Medians of ${hops.matching} of ${hops.requests} requests, one at a time, from their sockets.`];
    sections.push({ title: 'A lone request, hop by hop', table: hopsTable(hops), lines });
  }
  const special = specialsText(specials);
  if (special.length > 0) sections.push({ title: 'Under special conditions', lines: special });
  sections.push({ title: 'What the names mean', lines: legend(summaries) });
  return renderPage({
    title: 'Raw Materials: the pipeline beside what one would build instead',
    lines: [
      `${report.at}: ${machine.cores} cores (${machine.cpu}), ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}, everything on this one machine.`,
      `Postgres ${postgres['server_version']} with fsync and synchronous_commit on, Redis ${redisVersion}.`,
      ...warnings(report),
    ],
    sections,
  });
}

function throughputBars(summaries: readonly Summary[]): BarPlot {
  const names = [...new Set(summaries.map(({ scenario }) => scenario))];
  const groups = names.map((scenario) => ({
    name: `${scenario}: ${scenarios[scenario].title}`,
    bars: summaries
      .filter((summary) => summary.scenario === scenario)
      .map(({ design, requestsASecond, p99Ms }) => ({
        name: designs[design].symbol,
        value: requestsASecond,
        note: `(p99 ${p99Ms.toFixed(1)} ms)`,
      })),
  }));
  return { kind: 'bars', title: 'Requests a second', unit: 'requests/s', groups };
}

/** The first round of each design, because a curve of medians would be that of no round. */
function percentiles(scenario: ScenarioName, rounds: readonly Round[]): LinePlot {
  const firsts = firstOfEach(rounds.filter((round) => round.scenario === scenario));
  const xs = [...new Set(firsts.flatMap((round) => round.percentiles.map(({ percentile }) => percentile)))]
    .filter((percentile) => percentile < 100)
    .toSorted((one, other) => one - other);
  return {
    kind: 'lines',
    isSparse: true,
    title: `${scenario}: latency by percentile`,
    xTitle: 'percentile',
    yTitle: 'ms',
    xScale: 'percentile',
    yScale: 'log',
    xs: xs.map((percentile) => 1 / (1 - percentile / 100)),
    series: firsts.map((round) => {
      const known = new Map(round.percentiles.map(({ percentile, ms }) => [percentile, ms]));
      return { name: designs[round.design].symbol, values: xs.map((percentile) => known.get(percentile) ?? null) };
    }),
  };
}

function latencyAgainstLoad(scenario: ScenarioName, rounds: readonly Round[]): LinePlot {
  const own = rounds.filter((round) => round.scenario === scenario);
  const rateOf = ({ load }: Round) => (load.loop === 'open' ? load.rate : 0);
  const xs = [...new Set(own.map(rateOf))].toSorted((one, other) => one - other);
  const series = [...new Set(own.map(({ design }) => design))].flatMap((design) =>
    (['p50Ms', 'p99Ms'] as const).map((figure) => {
      const known = new Map(own.filter((round) => round.design === design).map((round) => [rateOf(round), round]));
      const values = xs.map((rate) => known.get(rate)?.latency[figure] ?? null);
      return { name: `${designs[design].symbol} ${figure.slice(0, -2)}`, values };
    }),
  );
  return {
    kind: 'lines',
    isSparse: true,
    title: `${scenario}: latency against requests due a second`,
    xTitle: 'requests due a second',
    yTitle: 'ms',
    xScale: 'log',
    yScale: 'log',
    xs,
    series,
  };
}

function firstOfEach(rounds: readonly Round[]): Round[] {
  return rounds.filter((round, index) => rounds.findIndex(({ design }) => design === round.design) === index);
}

function namesOf(rounds: readonly Round[]): ScenarioName[] {
  return [...new Set(rounds.map(({ scenario }) => scenario))];
}

import { writeFileSync } from 'node:fs';
import { closeAll } from '../support/cleanup.js';
import { readServerSettings } from './bench-database.js';
import { describeMachine, loadNow } from './machine.js';
import { checkLedgers, measureCeiling } from './measure-round.js';
import type { Ceiling } from './measure-round.js';
import { readOptions, usage } from './options.js';
import type { BenchOptions } from './options.js';
import { peakMemoryMib } from './process-times.js';
import { cpuTable, figuresTable, legend, targetsSeen, targetsTable } from './report.js';
import { runBench } from './run-bench.js';
import type { BenchRun } from './run-bench.js';
import { scenarios } from './scenarios.js';
import { startStack } from './stack.js';
import type { Stack } from './stack.js';
import { disturbedCores, faultsOf, isDisturbed, summarise } from './summary.js';

/** `npm run bench`: the service beside what a user would write without a queue, on this machine, in one run. */
const exitCodeUsage = 64;
const exitCodeWrong = 1;
/** Nothing here may run for ever: a bench that hangs is ended, and what it started with it. */
const runMsMax = 45 * 60_000;
const ceilingMs = 1_500;

const startedMs = performance.now();
const overtime = setTimeout(() => {
  console.error(`The benchmark did not end within ${runMsMax / 60_000} minutes.`);
  process.exit(exitCodeWrong);
}, runMsMax);
overtime.unref();

const options = optionsOrExit();
const machine = describeMachine();
say(`${machine.cores} cores (${machine.cpu}), ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}`);
say(`load average before the start: ${machine.loadAverage}`);
try {
  // A scenario that knows a design is what needs it.
  const needed = options.designs.filter((name) =>
    options.scenarios.some((one) => scenarios[one].designs.includes(name)),
  );
  const stack = await startStack({ designs: needed, workers: options.workers, say });
  process.exitCode = await measureAll(stack, options);
  await stack.close();
} finally {
  // What a failure half-way has left: closing it says so by its name, which is no news then.
  await closeAll().catch((error: unknown) => {
    if (process.exitCode === 0) throw error;
  });
}

/** @returns the exit code */
async function measureAll(stack: Stack, chosen: BenchOptions): Promise<number> {
  const postgres = await readServerSettings(stack.postgresUrl);
  const redis = await stack.redis.version();
  if (postgres['fsync'] !== 'on' || postgres['synchronous_commit'] !== 'on') {
    throw new Error(`Postgres does not wait for its disk: ${JSON.stringify(postgres)}`);
  }
  say(`Postgres ${postgres['server_version']} (fsync and synchronous_commit on), Redis ${redis}`);
  const [first] = stack.designs.values();
  const ceiling = first && (await measureCeiling(stack, first, ceilingMs));
  if (ceiling) say(ceilingText(ceiling));
  const run = await runBench(stack, chosen, say);
  say('checking every ledger');
  const problems = await checkLedgers(stack);
  const ours = stack.designs.get('ours');
  const peakMib = ours && {
    api: ours.pids.api.map(peakMemoryMib),
    worker: ours.pids.worker.map(peakMemoryMib),
  };
  const summaries = summarise(run.rounds);
  const loadAverageAfter = loadNow();
  const report = {
    at: new Date().toISOString(),
    machine,
    postgres,
    redisVersion: redis,
    options: chosen,
    ceiling,
    ...run,
    summaries,
    targets: targetsSeen(summaries),
    problems,
    peakMib,
    loadAverageAfter,
  };
  writeFileSync(chosen.jsonPath, `${JSON.stringify(report, null, 2)}\n`);
  print('', figuresTable(summaries), '', 'CPU for a request', cpuTable(summaries), '');
  if (chosen.designs.includes('ours')) print(targetsTable(summaries), '');
  print(legend(summaries), '', ...redisLines(run));
  if (peakMib) print(`peak memory, MiB: API ${peakMib.api.join(', ')}, worker ${peakMib.worker.join(', ')}`);
  print(`load average: ${machine.loadAverage} before, ${loadAverageAfter} after`, `figures: ${chosen.jsonPath}`);
  const disturbed = run.rounds.filter(isDisturbed).length;
  if (disturbed > 0) {
    print(
      `NOT A QUIET MACHINE: in ${disturbed} of ${run.rounds.length} rounds other programs used more than ${disturbedCores} cores; the ratios are worth little.`,
    );
  }
  for (const problem of problems) print(`WRONG: ${problem}`);
  const faults = problems.length + run.rounds.reduce((total, round) => total + faultsOf(round), 0);
  if (faults > 0) print(`${faults} faults: what was acknowledged and what is there differ, or requests failed.`);
  return faults > 0 ? exitCodeWrong : 0;
}

function redisLines({ redis }: BenchRun): string[] {
  if (redis.length === 0) return [];
  const left = Math.max(...redis.map(({ materialKeys }) => materialKeys));
  const shapes = new Set(redis.map(({ connections }) => JSON.stringify(Object.entries(connections).toSorted())));
  return [
    `keys of idle materials in Redis (must: 0): ${left}`,
    `Redis connections ${shapes.size === 1 ? 'the same after every round' : 'differed between rounds'}: ${[...shapes].join(' / ')}`,
  ];
}

function ceilingText({ requestsASecond, generatorMsARequest }: Ceiling): string {
  const own =
    generatorMsARequest === undefined
      ? ''
      : `; the generator alone could ask ${Math.round(1_000 / generatorMsARequest)} a second with a core of its own`;
  return `ceiling of generator and HTTP stack (/healthz): ${Math.round(requestsASecond)} requests/s${own}`;
}

function optionsOrExit(): BenchOptions {
  try {
    return readOptions(process.argv.slice(2), new Date());
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return process.exit(exitCodeUsage);
  }
}

/** Progress, with the seconds since the start. */
function say(line: string): void {
  const seconds = String(Math.round((performance.now() - startedMs) / 1_000)).padStart(4);
  console.log(`${seconds} s  ${line}`);
}

function print(...lines: string[]): void {
  console.log(lines.join('\n'));
}

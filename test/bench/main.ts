import { writeFileSync } from 'node:fs';
import { readArguments } from '../load/read-arguments.js';
import { closeAll } from '../support/processes/cleanup.js';
import { readServerSettings } from './bench-database.js';
import { benchPage } from './bench-page.js';
import { faultsIn, reportText } from './bench-report.js';
import type { BenchReport, BenchRun } from './bench-report.js';
import type { BenchContext } from './context.js';
import { runHops } from './hops/run-hops.js';
import { describeMachine, loadNow, watchHost } from './machine.js';
import { checkLedgers, measureCeiling } from './measure-round.js';
import type { Ceiling } from './measure-round.js';
import { readOptions, usage } from './options.js';
import type { PartName } from './options.js';
import { runApis } from './parts/apis.js';
import { runFairness } from './parts/fairness.js';
import { runLocked } from './parts/locked.js';
import { runConnections, runWorkers } from './parts/matrix.js';
import { runOpenLoop } from './parts/open-loop.js';
import { runOverload } from './parts/overload.js';
import { runPresent } from './parts/present.js';
import { runRetention } from './parts/retention.js';
import { runRounds } from './parts/rounds.js';
import { planBench } from './plan.js';
import { createPools } from './pools.js';
import { scenarios } from './scenarios.js';
import { startStack } from './stack.js';
import type { Stack } from './stack.js';
import { summarise } from './summary.js';
import { targetsSeen } from './tables.js';

/** `npm run bench`: the service beside what a user would write without a queue, on this machine, in one run. */
const exitCodeWrong = 1;
/** Nothing here may run for ever: a bench that hangs is ended, and what it started with it. */
const overtimeFactor = 3;
const overtimeMsMin = 10 * 60_000;
const ceilingMs = 1_500;

const startedMs = performance.now();
const stolenSoFar = watchHost();
const options = readArguments('npm run bench', usage, (args) => readOptions(args, new Date()));
const machine = describeMachine();
say(`${machine.cores} cores (${machine.cpu}), ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}`);
say(`load average before the start: ${machine.loadAverage}`);
const { parts, totalMs } = planBench(options);
for (const { part, title, ms } of parts) say(`  ${part}: ${title}, about ${Math.round(ms / 1_000)} s`);
say(`about ${(totalMs / 60_000).toFixed(1)} minutes in all`);

const overtime = setTimeout(
  () => {
    console.error('The benchmark took three times as long as was expected, and is ended.');
    process.exit(exitCodeWrong);
  },
  Math.max(totalMs * overtimeFactor, overtimeMsMin),
);
overtime.unref();

try {
  // A design is needed if a scenario compares it; every part but the rounds is about the service.
  const needed = options.designs.filter((name) =>
    options.scenarios.some((one) => scenarios[one].designs.includes(name)),
  );
  const stack = await startStack({ designs: needed, workers: options.workers[0] ?? 1, say });
  process.exitCode = await measureAll({ stack, options, say });
  await stack.close();
} finally {
  // Closes what a failure half-way has left; that it then throws, naming it, is no news beside the failure.
  await closeAll().catch((error: unknown) => {
    if (process.exitCode === 0) throw error;
  });
}

/** @returns the exit code */
async function measureAll(context: BenchContext): Promise<number> {
  const { stack } = context;
  const postgres = await readServerSettings(stack.postgresUrl);
  const redisVersion = await stack.redis.version();
  if (postgres['fsync'] !== 'on' || postgres['synchronous_commit'] !== 'on') {
    throw new Error(`Postgres does not wait for its disk: ${JSON.stringify(postgres)}`);
  }
  say(`Postgres ${postgres['server_version']} (fsync and synchronous_commit on), Redis ${redisVersion}`);
  const ceiling = await ceilingOf(stack);
  const pools = createPools(context);
  const run: BenchRun = { rounds: [], redis: [], connections: [], workers: [], open: [], specials: {} };
  const { specials } = run;
  const runPart: Record<PartName, () => Promise<unknown>> = {
    rounds: async () => Object.assign(run, await runRounds(context, pools)),
    connections: async () => (run.connections = await runConnections(context, pools, run.rounds)),
    workers: async () => (run.workers = await runWorkers(context, pools)),
    apis: async () => (specials.apis = await runApis(context)),
    open: async () => (run.open = await runOpenLoop(context, pools, run.rounds)),
    hops: async () => (run.hops = await runHops(context)),
    present: async () => (specials.present = await runPresent(context)),
    retention: async () => (specials.retention = await runRetention(context)),
    fairness: async () => (specials.fairness = await runFairness(context)),
    overload: async () => (specials.overload = await runOverload(context)),
    locked: async () => (specials.locked = await runLocked(context)),
  };
  for (const part of context.options.parts) await runPart[part]();
  say('checking every ledger');
  const summaries = summarise(run.rounds);
  const report: BenchReport = {
    at: new Date().toISOString(),
    machine,
    postgres,
    redisVersion,
    options: context.options,
    ceiling,
    ...run,
    sweeps: pools.sweeps(),
    summaries,
    targets: targetsSeen(summaries),
    problems: [...pools.problems(), ...(await checkLedgers(stack))],
    loadAverageAfter: loadNow(),
    stolenPart: stolenSoFar(),
    seconds: (performance.now() - startedMs) / 1_000,
  };
  writeFileSync(options.jsonPath, `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(options.htmlPath, benchPage(report));
  console.log(`\n${reportText(report)}\nfigures: ${options.jsonPath}\npage: ${options.htmlPath}`);
  return faultsIn(report) > 0 ? exitCodeWrong : 0;
}

async function ceilingOf(stack: Stack): Promise<Ceiling | undefined> {
  const [first] = stack.designs.values();
  if (first === undefined) return undefined;
  const ceiling = await measureCeiling(stack, first, ceilingMs);
  const { requestsASecond, generatorMsARequest } = ceiling;
  const own =
    generatorMsARequest === undefined
      ? ''
      : `; the generator alone could ask ${Math.round(1_000 / generatorMsARequest)} a second with a core of its own`;
  say(`ceiling of generator and HTTP stack (/healthz): ${Math.round(requestsASecond)} requests/s${own}`);
  return ceiling;
}

/** Progress, with the seconds since the start. */
function say(line: string): void {
  const seconds = String(Math.round((performance.now() - startedMs) / 1_000)).padStart(4);
  console.log(`${seconds} s  ${line}`);
}

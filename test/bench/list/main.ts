import { writeFileSync } from 'node:fs';
import { connectDatabase } from '../../../shared/database/connect.js';
import { readArguments } from '../../load/read-arguments.js';
import { closeAll } from '../../support/processes/cleanup.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import { startService } from '../../support/processes/service.js';
import { describeMachine, hostText, loadNow, watchHost } from '../machine.js';
import { median } from '../median.js';
import { productionEnv } from '../stack.js';
import { fillShop } from './fill-shop.js';
import { measureMemory } from './measure-memory.js';
import { measureShapes } from './measure-shapes.js';
import type { ShapeFigures } from './measure-shapes.js';
import { readListOptions, usage } from './options.js';
import { filters, isJudged } from './shapes.js';

/**
 * `npm run bench:list`: the list of a shop of ten thousand materials beside that of one of a million, in one database
 * and over HTTP, and how fast these were imported.
 */
const options = readArguments('npm run bench:list', usage, readListOptions);
const factorMax = 5;
const memoryMibMax = 250;
const memoryRun = { clients: 64, forMs: 20_000 };

/** As `npm run bench`: nothing here may run for ever. */
const runMsMax = 60 * 60_000;

const overtime = setTimeout(() => {
  console.error(`The benchmark did not end within ${runMsMax / 60_000} minutes.`);
  process.exit(1);
}, runMsMax);
overtime.unref();
const machine = describeMachine();
const stolenSoFar = watchHost();
say(`load average before the start: ${machine.loadAverage}`);
try {
  process.exitCode = await run();
} finally {
  await closeAll().catch((error: unknown) => {
    if (process.exitCode === 0) throw error;
  });
}

async function run(): Promise<number> {
  const { url } = await createTestDatabase({ forWholeRun: true });
  const database = connectDatabase({ url, poolMax: 2, applicationName: 'raw-materials-bench-list' });
  try {
    const [small, large] = [await fill(options.small), await fill(options.large)];
    const service = await startService({ databaseUrl: url, workers: 0, env: productionEnv });
    const [api] = service.apis;
    const baseUrl = service.baseUrls[0] ?? '';
    const asked = { baseUrl, smallKey: small.readKey, largeKey: large.readKey, rounds: options.rounds };
    say('measuring');
    const figures = await measureShapes(asked);
    const memory = await measureMemory({ baseUrl, pid: api?.pid ?? 0 }, { key: large.readKey, ...memoryRun });
    await service.stop();
    const stolenPart = stolenSoFar();
    const report = { machine, stolenPart, small: small.importSeconds, large: large.importSeconds, memory, figures };
    writeFileSync(options.jsonPath, `${JSON.stringify(report, null, 2)}\n`);
    print(figures);
    const { clients, answers, refused, megabytes, beforeMib, peakMib } = memory;
    console.log(
      `\n${clients} clients at pageSize=1000: ${answers} answers, ${refused} refused, ${megabytes} MB; the API held ${beforeMib} MiB before and ` +
        `${peakMib} MiB at its peak (must: ${memoryMibMax})`,
      `\nload average: ${machine.loadAverage} before, ${loadNow()} after${hostText(stolenPart)}; figures: ${options.jsonPath}`,
    );
    const missed = figures.filter((one) => isJudged(one) && factorOf(one) > factorMax).length;
    return missed > 0 || (peakMib ?? 0) > memoryMibMax ? 1 : 0;
  } finally {
    await database.destroy();
  }

  async function fill(count: number) {
    const shop = await fillShop(database, url, count);
    const seconds = shop.importSeconds;
    say(
      `${count} materials imported with their stock in ${seconds.toFixed(1)} s: ${Math.round(count / seconds)} a second`,
    );
    return shop;
  }
}

function factorOf({ smallMs, largeMs }: ShapeFigures): number {
  return largeMs / smallMs;
}

/** A line for each filter and page: the median of all sorts, and the one that grows most. */
function print(figures: readonly ShapeFigures[]): void {
  console.log(`\n${['filter', 'page', 'small ms', 'large ms', 'worst sort', 'ms', 'factor'].join(' | ')}`);
  for (const filter of Object.keys(filters)) {
    for (const page of new Set(figures.map((one) => one.page))) {
      const of = figures.filter((one) => one.filter === filter && one.page === page);
      const [worst] = of.toSorted((one, other) => factorOf(other) - factorOf(one));
      if (worst === undefined) continue;
      const cells = [
        filter,
        page === worst.smallPage ? String(page) : `${page} (small: ${worst.smallPage})`,
        median(of.map(({ smallMs }) => smallMs)).toFixed(1),
        median(of.map(({ largeMs }) => largeMs)).toFixed(1),
        `${worst.sortBy} ${worst.sortOrder}`,
        `${worst.smallMs.toFixed(1)} → ${worst.largeMs.toFixed(1)}`,
        `${factorOf(worst).toFixed(1)}${isJudged(worst) && factorOf(worst) > factorMax ? ' MISSED' : ''}`,
      ];
      console.log(cells.join(' | '));
    }
  }
}

function say(line: string): void {
  console.log(`${String(Math.round(performance.now() / 1_000)).padStart(4)} s  ${line}`);
}

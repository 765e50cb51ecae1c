import { Command, InvalidArgumentError } from 'commander';
import { exitCodes } from '../../shared/runtime/exit-codes.js';
import { outliveLostOutput } from '../../shared/runtime/lost-output.js';
import { closingTable } from './closing-table.js';
import { findTests, readTestFiles, selectTests } from './find-tests.js';
import type { LongTest } from './find-tests.js';
import { runTest } from './run-test.js';
import type { RunResult } from './run-test.js';

/** `npm run test:long`: the tests of reliability §2 at their large sizes, one after the other, and what they showed. */
interface Options {
  size?: number;
  seed?: number;
  minutes?: number;
  list?: true;
}

const say = (line: string) => {
  console.log(line);
};
const interruptedCode = 130;
const seedBound = 0xffff_ffff;

outliveLostOutput(process);

const program = new Command('npm run test:long --')
  .description('Runs the tests that npm test runs small, at their large sizes: T1, T2 …; all, where none is named.')
  .argument('[tests...]', 'T3 T7 …')
  .option('--size <n>', 'how many of each (faults, rows, rounds), in place of its large size', oneOrMore)
  .option('--seed <n>', 'repeats the choices of an earlier run, though not the timing of its processes', wholeNumber)
  .option('--minutes <n>', 'ends each test after so long, with what it has', oneOrMore)
  .option('--list', 'says which tests there are, and in which files')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : exitCodes.usage))
  .action(async (names: string[], options: Options) => {
    const tests = chosen(names);
    if (options.list) list(tests);
    else process.exitCode = await runAll(tests, options);
  });
await program.parseAsync();

function chosen(names: string[]): LongTest[] {
  try {
    return selectTests(findTests(readTestFiles()), names);
  } catch (error) {
    return program.error((error as Error).message);
  }
}

function list(tests: LongTest[]): void {
  for (const { name, parts } of tests) {
    for (const [index, { title, file }] of parts.entries()) {
      say(`${(index === 0 ? name : '').padEnd(4)} ${title}\n     ${file}`);
    }
  }
}

async function runAll(tests: LongTest[], { size, minutes, ...given }: Options): Promise<number> {
  const seed = given.seed ?? Math.floor(Math.random() * seedBound);
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      abort.abort();
    });
  }
  say(`${tests.map(({ name }) => name).join(' ')}, seed ${String(seed)}`);
  const results: RunResult[] = [];
  for (const test of tests) {
    if (abort.signal.aborted) break;
    say(`\n${test.name}: ${test.parts.map(({ title }) => title).join('; ')}`);
    results.push(await runTest(test, { seed, size, minutes, signal: abort.signal, say }));
  }
  say(`\n${closingTable(results)}\n`);
  for (const { test, verdict } of results) {
    if (verdict !== 'passed') say(`${test.name} ${verdict}; again: ${replay(test, { seed, size, minutes })}`);
  }
  if (abort.signal.aborted) return interruptedCode;
  return results.every(({ verdict }) => verdict === 'passed') ? 0 : 1;
}

function replay({ name }: LongTest, options: Record<string, number | undefined>): string {
  const given = Object.entries(options).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option} ${String(value)}`],
  );
  return ['npm run test:long --', name, ...given].join(' ');
}

function wholeNumber(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('It takes a whole number.');
  return Number(text);
}

/** None of a test would pass without having shown anything. */
function oneOrMore(text: string): number {
  const number = wholeNumber(text);
  if (number < 1) throw new InvalidArgumentError('It takes a whole number from 1.');
  return number;
}

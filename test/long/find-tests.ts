import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A test of reliability §2 that has a large size. */
export interface LongTest {
  /** `T3` */
  name: string;
  /** The files it is in; several of them show one promise from several sides. */
  parts: TestPart[];
}

export interface TestPart {
  /** What it says of itself there, after its name. */
  title: string;
  /** From the root of the repository. */
  file: string;
}

export interface TestFile {
  path: string;
  text: string;
}

const root = new URL('../../', import.meta.url);

/** Every test file of the repository, with its text. */
export function readTestFiles(): TestFile[] {
  return readdirSync(new URL('test/', root), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .sort()
    .map((path) => ({ path: join('test', path), text: readFileSync(new URL(`test/${path}`, root), 'utf8') }));
}

/**
 * Finds the tests by the titles of their suites and tests, `T3: what it is`, so that a new one need not be entered
 * anywhere. They come in the order of their numbers; the part in a file has the first title found there.
 */
export function findTests(files: TestFile[]): LongTest[] {
  const tests = new Map<string, LongTest>();
  for (const { path, text } of files) {
    for (const [, , name = '', title = ''] of text.matchAll(/\b(?:describe|it)\(\s*(['"`])(T\d+): (.*?)\1,/g)) {
      const test = tests.get(name) ?? { name, parts: [] };
      tests.set(name, test);
      if (!test.parts.some(({ file }) => file === path)) test.parts.push({ title, file: path });
    }
  }
  return [...tests.values()].sort((one, other) => numberOf(one.name) - numberOf(other.name));
}

/**
 * The tests of these names, in the order of their numbers; all of them where none is named.
 *
 * @throws naming what there is not, for the person who typed it
 */
export function selectTests(tests: LongTest[], names: string[]): LongTest[] {
  const wanted = new Set(names.map((name) => name.toUpperCase()));
  const unknown = [...wanted].filter((name) => !tests.some((test) => test.name === name));
  if (unknown.length > 0) {
    throw new Error(`There is no ${unknown.join(', ')}. There are ${tests.map(({ name }) => name).join(', ')}.`);
  }
  return wanted.size === 0 ? tests : tests.filter(({ name }) => wanted.has(name));
}

/** What mocha's `--grep` takes to run a test, and no other whose name begins alike. */
export function grepOf({ name }: LongTest): string {
  return `\\b${name}: `;
}

function numberOf(name: string): number {
  return Number(name.slice(1));
}

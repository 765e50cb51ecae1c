import { mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type ts from 'typescript';

const tests = fileURLToPath(new URL('../', import.meta.url));
const out = fileURLToPath(new URL('../../dist/test/', import.meta.url));
const folders = ['load', 'bench'] as const;

/** The path of a compiled file, by its own under `test/`. */
export type ScriptOf = (source: string) => string;

/**
 * Writes the processes of load runs and of the benchmark as JavaScript into `dist/test`, where they find `dist/api` and
 * `dist/shared`: the baselines then run the very files that the service runs. Under tsx they would not: tsx names every
 * function at run time, by defining a property of each closure.
 *
 * Only what is older than its source, since to load the compiler alone takes a second.
 */
export async function compileChildren(): Promise<ScriptOf> {
  const stale = sources().filter((name) => writtenAtMs(compiled(name)) <= changedAtMs(name));
  if (stale.length > 0) {
    const { default: compiler } = await import('typescript');
    for (const name of stale) compile(compiler, name);
  }
  return compiled;
}

function sources(): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(tests, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => join(folder, name)),
  );
}

function compiled(source: string): string {
  return join(out, source.replace(/\.ts$/, '.js'));
}

/** A change of how they are compiled changes them all. */
function changedAtMs(source: string): number {
  return Math.max(writtenAtMs(join(tests, source)), writtenAtMs(fileURLToPath(import.meta.url)));
}

/** 0 where there is no such file. */
function writtenAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function compile(compiler: typeof ts, name: string): void {
  const { outputText } = compiler.transpileModule(readFileSync(join(tests, name), 'utf8'), {
    fileName: name,
    compilerOptions: {
      target: compiler.ScriptTarget.ES2023,
      module: compiler.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  });
  const path = compiled(name);
  mkdirSync(dirname(path), { recursive: true });
  // Whole at once: a process of another run may be reading it.
  const written = `${path}.${process.pid}`;
  writeFileSync(written, outputText);
  renameSync(written, path);
}

import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const tests = fileURLToPath(new URL('../', import.meta.url));
const out = fileURLToPath(new URL('../../dist/test/', import.meta.url));
const folders = ['load', 'bench'] as const;

/**
 * Writes the processes of load runs and of the benchmark as JavaScript into `dist/test`, where they find `dist/api` and
 * `dist/shared`: the baselines then run the very files that the service runs. Under tsx they would not: tsx names every
 * function at run time, by defining a property of each closure.
 *
 * @returns the path of a compiled file, by its own under `test/`
 */
export function compileChildren(): (source: string) => string {
  for (const folder of folders) {
    for (const name of readdirSync(join(tests, folder), { recursive: true, encoding: 'utf8' })) {
      if (name.endsWith('.ts') && !name.endsWith('.test.ts')) compile(join(folder, name));
    }
  }
  return (source) => join(out, source.replace(/\.ts$/, '.js'));
}

function compile(name: string): void {
  const { outputText } = ts.transpileModule(readFileSync(join(tests, name), 'utf8'), {
    fileName: name,
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
  });
  const path = join(out, name.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(path), { recursive: true });
  // Whole at once: a process of another run may be reading it.
  const written = `${path}.${process.pid}`;
  writeFileSync(written, outputText);
  renameSync(written, path);
}

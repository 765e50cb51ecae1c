import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const here = dirname(fileURLToPath(import.meta.url));
const dist = fileURLToPath(new URL('../../dist/', import.meta.url));

/**
 * Writes the benchmark's own processes as JavaScript into `dist/test/bench`, where they find `dist/api` and
 * `dist/shared`: the baselines then run the very files that the service runs. Under tsx they would not: it names every
 * function at run time, a definition of a property for each closure.
 *
 * @returns the path of a compiled file
 * @throws where the service was not built
 */
export function compileChildren(): (source: string) => string {
  if (!existsSync(join(dist, 'api/main.js'))) throw new Error('dist/ is missing: npm run build');
  const out = join(dist, 'test/bench');
  for (const name of readdirSync(here, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const { outputText } = ts.transpileModule(readFileSync(join(here, name), 'utf8'), {
      fileName: name,
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
      },
    });
    const path = join(out, name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, outputText);
  }
  return (source) => join(out, source.replace(/\.ts$/, '.js'));
}

import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect } from 'chai';

/** What is read of the configuration, which is JavaScript without types. */
interface Configuration {
  commandRunner: { command: string };
  ignorePatterns: string[];
}

const root = new URL('../../', import.meta.url);
const testFolder = 'test/unit/domain';

/** The files of the project that these import, and that those import, and so on. */
function allImportsOf(paths: string[]): Set<string> {
  const found = new Set<string>();
  const open = [...paths];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const [, named = ''] of readFileSync(new URL(path, root), 'utf8').matchAll(/ from '(\.[^']+)\.js';/g)) {
      const imported = `${posix.join(posix.dirname(path), named)}.ts`;
      if (!found.has(imported)) open.push(imported);
      found.add(imported);
    }
  }
  return found;
}

describe('npm run test:mutation', () => {
  it('copies all that its tests import: it once left out a folder, and could not run for days', async () => {
    const { href } = new URL('test/tools/stryker.config.js', root);
    const { default: stryker } = (await import(href)) as { default: Configuration };
    const tests = readdirSync(new URL(testFolder, root)).map((name) => `${testFolder}/${name}`);
    expect(stryker.commandRunner.command).to.contain(`${testFolder}/*.test.ts`);
    const imported = allImportsOf(tests);
    expect([...imported]).to.include('shared/domain/adjustment.ts');
    const left = [...imported].filter((path) =>
      stryker.ignorePatterns.some((ignored) => path.startsWith(`${ignored}/`)),
    );
    expect(left).to.deep.equal([]);
  });
});

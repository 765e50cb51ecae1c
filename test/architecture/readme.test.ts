import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { settings as apiSettings } from '../../api/config.js';
import type { SettingsDeclaration } from '../../shared/runtime/settings.js';
import { settings as workerSettings } from '../../worker/config.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  it('lists every setting of the processes, with its default and what it means', () => {
    const rows = readme.split('\n').filter((line) => /^\| `[A-Z_]+` \|/.test(line));
    expect(rows).to.deep.equal(settingsRows());
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = new Set([...readme.matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name));
    expect([...named].filter((name) => scripts[name] === undefined)).to.deep.equal([]);
    expect(named.size).to.be.greaterThan(5);
  });

  it('names only files and folders that exist', () => {
    const named = [...readme.matchAll(/`((?:api|worker|shared|test)\/[\w./-]*)`/g)].map(([, path = '']) => path);
    expect(named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).to.deep.equal([]);
    expect(named.length).to.be.greaterThan(10);
  });

  it('names only tests that exist, in a table or a sentence, in backticks or not', () => {
    const named = [...readme.matchAll(/\btest\/[\w./-]*\.ts\b/g)].map(([path]) => path);
    expect(named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).to.deep.equal([]);
    expect(named.length).to.be.greaterThan(5);
  });
});

/** The table as it must stand in the README; a failing test prints it. */
function settingsRows(): string[] {
  const processes: [string, SettingsDeclaration][] = [
    ['API', apiSettings],
    ['worker', workerSettings],
  ];
  const readers = new Map<string, { row: string; by: string[] }>();
  for (const [process, declared] of processes) {
    for (const [name, setting] of Object.entries(declared)) {
      const fallback = setting.default === undefined || setting.default === '' ? '–' : `\`${String(setting.default)}\``;
      const row = `${setting.required ? 'required' : fallback} | ${setting.description}`;
      const known = readers.get(name) ?? { row, by: [] };
      expect(known.row, `${name} means the same to every process`).to.equal(row);
      readers.set(name, known);
      known.by.push(process);
    }
  }
  return [...readers].map(([name, { row, by }]) => `| \`${name}\` | ${by.join(', ')} | ${row} |`);
}

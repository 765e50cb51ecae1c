import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect } from 'chai';
import { tools } from '../../api/agent/tools.js';
import { apiSettings } from '../../api/config.js';
import { historyQuerySchema } from '../../shared/contract/history-query.js';
import { inventoryRowSchema } from '../../shared/contract/inventory-batch.js';
import { listQuerySchema } from '../../shared/contract/list-query.js';
import { statusByCode } from '../../shared/domain/errors.js';
import { sortKeys } from '../../shared/domain/list-order.js';
import { createProgram, manageSettings } from '../../shared/manage/command-line.js';
import { readSettings } from '../../shared/runtime/settings.js';
import type { SettingsDeclaration } from '../../shared/runtime/settings.js';
import { workerSettings } from '../../worker/config.js';

const root = new URL('../../', import.meta.url);
const readme = textOf('README.md');

describe('the README', () => {
  it('lists every setting of the processes, with its default and what it means', () => {
    const rows = readme.split('\n').filter((line) => /^\| `[A-Z_]+` \|/.test(line));
    expect(rows).to.deep.equal(settingsRows());
  });

  // What users and operators are told of. Each list has its one place in the code, and this page names what is in it.
  const lists: [what: string, from: string, names: string[]][] = [
    ['every error code', 'shared/domain/errors.ts', Object.keys(statusByCode)],
    ['every field of a batch row', 'shared/contract/inventory-batch.ts', Object.keys(inventoryRowSchema.properties)],
    ['every parameter of the list', 'shared/contract/list-query.ts', Object.keys(listQuerySchema.properties)],
    ['every parameter of the history', 'shared/contract/history-query.ts', Object.keys(historyQuerySchema.properties)],
    ['every tool for agents', 'api/agent/tools.ts', tools.map(({ published }) => published.name)],
    ["every operator's command", 'shared/manage', manageCommands()],
  ];

  for (const [what, from, names] of lists) {
    it(`names ${what}`, () => {
      const inBackticks = [...readme.matchAll(/(?<!`)`([^`\n]+)`/g)].map(([, code = '']) => code);
      const words = new Set(inBackticks.flatMap((code) => [code, ...code.split(/\W+/)]));
      const missing = names.filter((name) => !words.has(name));
      expect(missing, `in ${from}, but in no \`backticks\` of README.md: describe them there`).to.deep.equal([]);
      expect(names).to.not.be.empty;
    });
  }

  it('names every sort key beside `sortBy`', () => {
    const told = /`sortBy` ([\w, ]+);/.exec(readme.replaceAll('\n', ' '))?.[1]?.split(', ');
    expect(told, 'the list after `sortBy` in README.md, against shared/domain/list-order.ts').to.deep.equal([
      ...sortKeys,
    ]);
  });
});

for (const path of ['README.md', 'shared/manage/README.md', 'test/bench/README.md']) {
  describe(path, () => {
    const text = textOf(path);

    it('names only npm scripts that exist', () => {
      const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
      const named = new Set([...text.matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name));
      expect([...named].filter((name) => scripts[name] === undefined)).to.deep.equal([]);
      expect(named.size).to.be.greaterThan(0);
    });

    it('names only files, folders and tests that exist, in backticks or not', () => {
      const inBackticks = [...text.matchAll(/`((?:api|worker|shared|test)\/[\w./-]*)`/g)];
      const tests = [...text.matchAll(/\b(test\/[\w./-]*\.ts)\b/g)];
      const named = [...inBackticks, ...tests].map(([, name = '']) => name);
      expect(named.filter((name) => !existsSync(new URL(name, root)))).to.deep.equal([]);
      expect(named.length).to.be.greaterThan(0);
    });

    it('links only to files and headings that exist', () => {
      const links = [...text.matchAll(/\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)];
      const isBroken = ([, to = '', anchor]: string[]) => {
        const target = to === '' ? path : posix.join(posix.dirname(path), to);
        return !existsSync(new URL(target, root)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
      };
      expect(links.filter(isBroken).map(([link]) => link)).to.deep.equal([]);
      expect(links.length).to.be.greaterThan(0);
    });
  });
}

/** As they are typed: `shops create`, and `verify`, which is in no group. */
function manageCommands(): string[] {
  const read = readSettings(manageSettings, {});
  if (!read.ok) return expect.fail(read.problems.join(' '));
  return createProgram(read.values, process).commands.flatMap((group) =>
    group.commands.length === 0 ? [group.name()] : group.commands.map((one) => `${group.name()} ${one.name()}`),
  );
}

function textOf(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** As GitHub makes them of the headings of a page. */
function anchorsOf(path: string): string[] {
  const headings = [...textOf(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

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

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** Every entry, and nothing else. */
const entries = [
  'api/main.ts',
  'knexfile.ts',
  'shared/database/migrate.ts',
  'shared/manage/main.ts',
  'shared/standalone/doctor.ts',
  'shared/standalone/main.ts',
  'worker/main.ts',
];

/** Not `deps.process.env`: that is of the process that somebody was handed. */
const readsEnvironment = /(?<![\w.])process\.env\b|\benv\b[^;=]*\} = process\b|from '(?:node:)?process'/;

describe('the environment', () => {
  it('is read by the entries of the processes alone, which hand on what they found', () => {
    const inFolders = ['api', 'worker', 'shared'].flatMap((folder) =>
      readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
    );
    const sources = ['knexfile.ts', ...inFolders].filter((path) => path.endsWith('.ts'));
    expect(sources.length).to.be.greaterThan(200);
    expect(sources.filter((path) => readsEnvironment.test(read(path))).sort()).to.deep.equal(entries);
  });
});

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createEmptyDatabase, createTestDatabase } from '../../support/servers.js';

const entry = fileURLToPath(new URL('../../../dist/shared/database/migrate.js', import.meta.url));

describe('npm run migrate', () => {
  it('ends with 0 on a database that is up to date, and says so', async () => {
    const database = await createTestDatabase();
    const { code, stdout } = await migrate(database.url);
    expect({ code, stdout }).to.deep.equal({ code: 0, stdout: 'The schema is up to date.\n' });
    await database.drop();
  });

  it('may run in several places at once on an empty database: one migrates, and all end with 0', async () => {
    const database = await createEmptyDatabase();
    const runs = await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)));
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).to.deep.equal(runs.map(() => ({ code: 0, stderr: '' })));
    expect(runs.filter(({ stdout }) => stdout.startsWith('Migrated: 0001')).length).to.equal(1);
    await database.drop();
  });

  it('ends with 78 where DATABASE_URL is missing', async () => {
    const { code, stderr } = await migrate(undefined);
    expect(code).to.equal(78);
    expect(stderr).to.contain('DATABASE_URL is missing');
  });

  it('ends with 69 where the database is away, so that a deployment knows to try again, and tells no password', async () => {
    const { code, stderr } = await migrate('postgres://u:p4ss@127.0.0.1:1/x');
    expect(code).to.equal(69);
    expect(stderr)
      .to.match(/^The database could not be reached: .*ECONNREFUSED/m)
      .and.not.contain('p4ss');
  });
});

function migrate(url: string | undefined): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], ...(url !== undefined && { DATABASE_URL: url }) };
  const child = spawn(process.execPath, [entry], { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}

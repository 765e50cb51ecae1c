import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { isTransient, outageSentence } from '../../shared/database/errors.js';
import { connectForTest } from '../support/database/database.js';
import { runShipped, shipped } from '../support/processes/run-shipped.js';
import { testPostgres } from '../support/processes/servers.js';
import { temporaryFolder } from '../support/temporary-folder.js';

describe('a certificate file that DATABASE_URL names', () => {
  let folder: { path: string; remove(): Promise<void> };
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => folder.remove());

  const entries: [command: string, entry: string, code: number, args?: string[]][] = [
    ['npm run api', 'api/main.js', 78],
    ['npm run worker', 'worker/main.js', 78],
    ['npm run migrate', 'shared/database/migrate.js', 78],
    ['npm run manage', 'shared/manage/main.js', 78, ['verify']],
    ['npm start', 'shared/standalone/main.js', 78],
    // Which looks at everything, and says NO to it.
    ['npm run doctor', 'shared/standalone/doctor.js', 1],
  ];
  for (const [command, entry, code, args = []] of entries) {
    it(`is named as a setting to be mended where it is not there: ${command}`, async () => {
      const path = join(folder.path, 'nowhere.pem');
      const said = await runShipped(
        `process.argv = [process.execPath, 'entry', ...${JSON.stringify(args)}]; await import('${shipped(entry)}');`,
        {
          env: {
            PATH: process.env.PATH,
            DATA_DIR: folder.path,
            DATABASE_URL: `postgres://u:p4ss@127.0.0.1:1/x?sslmode=verify-full&sslrootcert=${path}`,
            REDIS_URL: 'redis://127.0.0.1:1',
          },
        },
      );
      const text = `${said.stdout.join('\n')}\n${said.stderr}`;
      expect(said, text).to.deep.include({ code, signal: null });
      expect(text)
        .to.contain(`names in sslrootcert the file ${path}, which cannot be used: ENOENT`)
        .and.not.contain('p4ss');
    });
  }

  // In between, a worker took the error for a fault of the operations, and an API answered 500.
  it('is an outage while it is replaced under a process that runs, and the next connection opens it again', async () => {
    const path = join(folder.path, 'root.pem');
    await writeFile(path, 'The driver reads it also where it does not use it.');
    const { url } = await testPostgres();
    const database = connectForTest(`${url}?sslmode=disable&sslrootcert=${path}`, { poolMax: 1 });
    try {
      await rename(path, `${path}.old`);
      const fault: unknown = await database.raw('SELECT 1').catch((error: unknown) => error);
      expect(isTransient(fault)).to.equal(true);
      const reason = `ENOENT: no such file or directory, open '${path}'`;
      expect(outageSentence(fault)).to.equal(`The database could not be reached: ${reason}.`);
      await rename(`${path}.old`, path);
      await database.raw('SELECT 1');
    } finally {
      await database.destroy();
    }
  });
});

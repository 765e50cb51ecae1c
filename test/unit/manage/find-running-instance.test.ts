import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { migrateDatabase } from '../../../shared/database/migrate-database.js';
import { createShop } from '../../../shared/database/shops.js';
import { startPostgres } from '../../../shared/standalone/postgres.js';
import { connectForTest } from '../../support/database/database.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { runManage } from './run-manage.js';

/** A user without an entry in the password file. */
const nobodyKnown = 54_321;

describe('npm run manage without DATABASE_URL', () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'raw-materials-test-manage-'));
    // mkdtemp makes it 0700; as root Postgres runs as another user, who must get in.
    await chmod(dataDir, 0o755);
  });

  afterEach(async () => {
    await rm(dataDir, { recursive: true });
  });

  it('works on the database that npm start runs in its data folder', async () => {
    const started = await startPostgres({ dataDir: join(dataDir, 'postgres'), say: () => undefined, env: process.env });
    if (!started.ok) throw new Error(started.problem);
    try {
      await migrateDatabase(started.value.url, () => undefined);
      const forAnother = { PGSSLMODE: 'require', PGOPTIONS: '-c search_path=x' };
      const env = { DATA_DIR: dataDir, ...forAnother };
      const { code, stdout, stderr } = await runManage(['shops', 'list', '--json'], env);
      expect({ code, stdout }).to.deep.equal({ code: 0, stdout: '{"shops":[]}\n' });
      expect(stderr).to.match(/^DATABASE_URL is not set: this is the database of npm start in .+\.\n$/);
      const database = connectForTest(started.value.url, { poolMax: 1 });
      const { id } = await createShop(database, { name: 'Demo', plan: 'enhanced' });
      await connectPlatform(database, id, 'http://127.0.0.1:1');
      await database.destroy();
      await writeFile(join(dataDir, 'platform-token-key'), `${platformTokenKey}\n`);
      const problemWith = async (more: Record<string, string>) => {
        const { stdout } = await runManage(['platform', 'sync', '--json'], { ...env, ...more });
        return (JSON.parse(stdout) as { shops: { problem: { code: string } }[] }).shops[0]?.problem.code;
      };
      expect(await problemWith({}), 'the stand-in, which is on the loopback, was called').to.equal('unavailable');
      const otherKey = { PLATFORM_TOKEN_KEY: 'ab'.repeat(32) };
      expect(await problemWith(otherKey), 'a key that is given is the one').to.equal('token-unreadable');
      await writeFile(join(dataDir, 'platform-token-key'), 'no key\n');
      const bad = await runManage(['shops', 'list'], env);
      expect(bad).to.deep.include({ code: 78, stdout: '' });
      expect(bad.stderr).to.match(/^What is in .+platform-token-key must be 32 random bytes/);
      expect(await problemWith(otherKey), 'beside a key that is given it is not read').to.equal('token-unreadable');
    } finally {
      await started.value.stop();
    }
    const { code, stderr } = await runManage(['shops', 'list', '--json'], { DATA_DIR: dataDir });
    expect(code, 'after it has stopped').to.equal(78);
    expect(stderr).to.contain('DATABASE_URL is not set');
  });

  it('finds it by any spelling of the folder, and a start by another takes it over', async () => {
    const spelt = `${dataDir}-link`;
    await symlink(dataDir, spelt);
    const started = await startPostgres({ dataDir: join(spelt, 'postgres'), say: () => undefined, env: process.env });
    if (!started.ok) throw new Error(started.problem);
    try {
      for (const path of [dataDir, spelt, relative(tmpdir(), dataDir)]) {
        const { code, stderr } = await runManage(['shops', 'list'], { DATA_DIR: path });
        expect({ code, stderr }, path).to.deep.equal({
          code: 69,
          stderr:
            `DATABASE_URL is not set: this is the database of npm start in ${path}.\n` +
            'The database does not have the schema of this version. Run: npm run migrate\n',
        });
      }
      for (const path of [dataDir, relative(process.cwd(), dataDir)]) {
        const again = await startPostgres({ dataDir: join(path, 'postgres'), say: () => undefined, env: process.env });
        expect(again, path).to.have.nested.include({ 'value.adopted': true, 'value.pid': started.value.pid });
      }
    } finally {
      await started.value.stop();
      await rm(spelt);
    }
  });

  it('says what to do, and ends with 78, where no npm start runs', async () => {
    const { code, stdout, stderr } = await runManage(['shops', 'list', '--json'], { DATA_DIR: dataDir });
    expect(code).to.equal(78);
    expect(JSON.parse(stdout)).to.deep.equal({ error: { message: stderr.trim() } });
    expect(stderr).to.contain('Set DATABASE_URL to postgres://').and.contain('npm start');
  });

  it('takes no other program for the database, whose number a stale postmaster.pid holds', async () => {
    const cluster = join(dataDir, 'postgres', 'cluster');
    await mkdir(cluster, { recursive: true });
    const lines = [process.pid, cluster, 0, 5432, '', '127.0.0.1', 0, 'ready', ''];
    await writeFile(join(cluster, 'postmaster.pid'), lines.join('\n'));
    await writeFile(join(dataDir, 'postgres', 'password'), 'x\n');
    expect(await runManage(['shops', 'list'], { DATA_DIR: dataDir })).to.have.property('code', 78);
  });

  it('takes no database that is still starting', async () => {
    const cluster = join(dataDir, 'postgres', 'cluster');
    await mkdir(cluster, { recursive: true });
    await writeFile(join(dataDir, 'postgres', 'password'), 'x\n');
    // It is known by its words and its folder, as a Postgres is; nobody answers on its port.
    const words = ['-e', 'setInterval(() => {}, 1000); console.log("here")', '--', '-D', cluster, '-p', '1', '-c'];
    const child = spawn(process.execPath, words, { cwd: cluster, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const codes = [];
    for (const state of ['starting', 'ready']) {
      const lines = [child.pid, cluster, 0, 1, '', '127.0.0.1', 0, state, ''];
      await writeFile(join(cluster, 'postmaster.pid'), lines.join('\n'));
      codes.push((await runManage(['shops', 'list'], { DATA_DIR: dataDir })).code);
    }
    child.kill('SIGKILL');
    expect(codes).to.deep.equal([78, 69]);
  });

  it('says of a database that belongs to another user whom to run as', async () => {
    const postgres = join(dataDir, 'postgres');
    await mkdir(join(postgres, 'cluster'), { recursive: true });
    await writeFile(join(postgres, 'cluster', 'postmaster.pid'), '1\n');
    await chmod(postgres, 0o000);
    const module = new URL('../../../shared/manage/find-running-instance.ts', import.meta.url).href;
    // The module is read first: the user may not be let into this folder.
    const script = `
      import { findRunningInstance } from '${module}';
      if (process.getuid() === 0) process.setuid(${nobodyKnown});
      console.log(findRunningInstance('${dataDir}').problem);`;
    const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    await chmod(postgres, 0o700);
    expect(stdout)
      .to.match(/^The database of npm start in \S+ belongs to another user: EACCES/)
      .and.match(/\.\nRun this as that user, or set DATABASE_URL\.\n$/);
  });
});

import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { preparePostgresFolder } from '../../../shared/standalone/postgres-folder.js';
import { isAlive } from '../../../shared/standalone/processes.js';
import { findServerUser } from '../../../shared/standalone/server-user.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** A user whom no machine has. */
const nobodyKnown = 54_321;

describe('the folder of the embedded Postgres', () => {
  let folder: { path: string; remove(): Promise<void> };
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => folder.remove());

  it('that is there is not left for an empty one elsewhere where its user may not enter any more', async () => {
    const closed = join(folder.path, 'closed');
    const dataDir = join(closed, 'postgres');
    await mkdir(dataDir, { recursive: true });
    await chmod(closed, 0o700);
    const user = { uid: nobodyKnown, gid: nobodyKnown, name: 'postgres' };
    const binaries = { initdb: '/nowhere', postgres: '/nowhere' };
    expect(await preparePostgresFolder({ dataDir, user, binaries, env: {}, say: () => undefined })).to.deep.equal({
      ok: false,
      problem:
        `Postgres cannot keep its data in ${dataDir}: ${closed} is closed to postgres (chmod o+x would open it).\n` +
        'Set DATA_DIR to a folder that postgres can get to and write to.',
    });
  });

  /** One that does this instead of making a cluster. */
  async function withInitdb(body: string) {
    const initdb = join(folder.path, 'initdb');
    await writeFile(initdb, `#!/bin/sh\n${body}\n`);
    await chmod(initdb, 0o755);
    const dataDir = join(folder.path, 'postgres');
    const binaries = { initdb, postgres: '/nowhere' };
    return { dataDir, user: undefined, binaries, env: process.env, say: () => undefined };
  }

  it('T19: that was moved and is lost is not replaced by an empty one, unless somebody says so', async () => {
    const deps = await withInitdb('exit 1');
    const [pointer, elsewhere] = [`${deps.dataDir}.moved`, join(folder.path, 'elsewhere')];
    await writeFile(pointer, `${elsewhere}\n`);
    expect(await preparePostgresFolder(deps)).to.deep.equal({
      ok: false,
      problem:
        `The database of ${deps.dataDir} was kept in ${elsewhere} (see ${pointer}), which is not there.\n` +
        'Restore it, or remove that file to begin anew.',
    });
    expect(await readFile(pointer, 'utf8')).to.equal(`${elsewhere}\n`);
    expect(await readdir(folder.path)).to.have.members(['initdb', 'postgres.moved']);
    // As a start leaves it that was cut off, or met a full disk, before there was any database.
    await writeFile(pointer, '');
    expect(await preparePostgresFolder(deps))
      .to.have.property('problem')
      .that.includes('could not make its');
  });

  it('is made in another place each time, which the initdb of a start that was killed does not share', async () => {
    const places = join(folder.path, 'places');
    const deps = await withInitdb(`echo "$1" >> '${places}'; exit 1`);
    for (const leftover of ['cluster.partial', 'cluster.partial-killed'])
      await mkdir(join(deps.dataDir, leftover, 'global'), { recursive: true });
    for (let count = 0; count < 2; count += 1)
      expect(await preparePostgresFolder(deps))
        .to.have.property('problem')
        .that.includes('could not make its');
    const made = (await readFile(places, 'utf8')).trim().split('\n');
    expect(new Set(made), made.join(' ')).to.have.property('size', 4);
    expect(await readdir(deps.dataDir)).to.deep.equal(['password']);
  });

  it('is rid of the half clusters of earlier starts, also where there is a whole one by now', async () => {
    const deps = await withInitdb('exit 1');
    for (const made of ['cluster', 'cluster.partial-killed'])
      await mkdir(join(deps.dataDir, made, 'global'), { recursive: true });
    await writeFile(join(deps.dataDir, 'password'), 'secret\n');
    expect(await preparePostgresFolder(deps)).to.have.property('ok', true);
    expect(await readdir(deps.dataDir)).to.have.members(['cluster', 'password']);
    expect(await readdir(join(deps.dataDir, 'cluster'))).to.deep.equal(['global']);
  });

  it('is not made any further once its start is ended, which leaves nothing half made', async () => {
    const deps = await withInitdb('exec sleep 300');
    const abort = new AbortController();
    const spawned: number[] = [];
    const onSpawn = (pid: number) => {
      spawned.push(pid);
      abort.abort();
    };
    const ended = await preparePostgresFolder({ ...deps, signal: abort.signal, onSpawn }).catch(
      (error: unknown) => error,
    );
    expect(ended).to.equal(abort.signal.reason);
    expect(spawned.map(isAlive)).to.deep.equal([false]);
    expect(await readdir(deps.dataDir)).to.deep.equal(['password']);
  });

  if (process.getuid?.() === 0) {
    it('says by its owner which user Postgres runs as, whoever else there is by now', async () => {
      await chown(folder.path, nobodyKnown, nobodyKnown);
      expect(await findServerUser(folder.path)).to.deep.equal({
        ok: true,
        value: { uid: nobodyKnown, gid: nobodyKnown, name: `the user ${nobodyKnown}` },
      });
    });
  }
});

import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { preparePostgresFolder } from '../../../shared/standalone/postgres-folder.js';
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

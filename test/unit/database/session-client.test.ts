import { expect } from 'chai';
import { findKeyWithShop, insertKey, revokeKey } from '../../../shared/database/api-keys.js';
import { createShop } from '../../../shared/database/shops.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';
import { connectForTest, useDatabase } from '../../support/database/database.js';
import { testPostgres } from '../../support/processes/servers.js';

describe('a database or role with another DateStyle', () => {
  const used = useDatabase();
  const expiresAt = new Date('2026-01-02T03:04:05.678Z');
  const revokedAt = new Date('2026-01-01T00:00:00.000Z');

  for (const style of ['German', 'SQL, DMY', 'Postgres, MDY', 'ISO, DMY']) {
    it(`as ${style}: a key that was revoked and has expired is known as such`, async () => {
      const { database } = used;
      const { id: shopId } = await createShop(database, { name: style, plan: 'enhanced' });
      const { id, secretHash } = mintKey();
      await insertKey(database, shopId, { id, label: style, scope: 'write', secretHash, expiresAt });
      await revokeKey(database, shopId, id, revokedAt);
      await database.raw('ALTER DATABASE ?? SET DateStyle = ??', [new URL(used.url).pathname.slice(1), style]);
      // The setting holds for the sessions that are opened from now on.
      const later = connectForTest(used.url, { poolMax: 1 });
      try {
        expect(await findKeyWithShop(later, id)).to.deep.include({ expiresAt, revokedAt });
      } finally {
        await later.destroy();
      }
    });
  }
});

describe('a session that was ended', () => {
  it('does not keep its process alive until a server that stays silent would be given up', async () => {
    const { url } = await testPostgres();
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const database = connectForTest(url, { poolMax: 1 });
    await database.raw('SELECT 1');
    await database.destroy();
    expect(timers()).to.equal(before);
  });
});

describe('a session whose address names a program', () => {
  for (const parameters of [
    'application_name=theirs',
    'application_name=theirs&options=-c%20work_mem%3D5MB',
    'options=-c%20work_mem%3D5MB&application_name=theirs&application_name=another',
  ]) {
    it(`has our name, by which it is known as ours, and all else of the address: ${parameters}`, async () => {
      const { url } = await testPostgres();
      const database = connectForTest(`${url}?${parameters}`, { poolMax: 1, applicationName: 'raw-materials-test' });
      const { rows } = await database.raw<{ rows: object[] }>(
        `SELECT application_name AS name, current_setting('work_mem') AS memory FROM pg_stat_activity
         WHERE pid = pg_backend_pid()`,
      );
      await database.destroy();
      const memory = parameters.includes('work_mem') ? '5MB' : '4MB';
      expect(rows).to.deep.equal([{ name: 'raw-materials-test', memory }]);
    });
  }
});

import { expect } from 'chai';
import {
  expireKey,
  findKeyWithShop,
  insertKey,
  listKeys,
  lockKey,
  revokeKey,
  touchKey,
} from '../../../shared/database/api-keys.js';
import type { Database } from '../../../shared/database/connect.js';
import { createShop, findShop } from '../../../shared/database/shops.js';
import { mintKey } from '../../../shared/keys/api-key-format.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import type { TestDatabase } from '../../support/processes/servers.js';

describe('stored API keys', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  /** Gives a statement up that waits for a lock. */
  let impatient: Database;
  let shopId: number;
  let otherShopId: number;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectForTest(testDatabase.url, { poolMax: 4 });
    const url = new URL(testDatabase.url);
    // By the clock of the lock alone: a machine that stands still is none to wait for.
    url.searchParams.set('options', '-c lock_timeout=2s');
    impatient = connectForTest(url.href, { poolMax: 1 });
    shopId = (await createShop(database, { name: 'one', plan: 'enhanced', rateLimitPoints: 7 })).id;
    otherShopId = (await createShop(database, { name: 'two', plan: 'basic' })).id;
  });

  after(async () => {
    await Promise.all([database.destroy(), impatient.destroy()]);
    await testDatabase.drop();
  });

  async function issue(label: string, expiresAt: Date | null = null) {
    const { id, secretHash } = mintKey();
    return { secretHash, ...(await insertKey(database, shopId, { id, label, scope: 'write', secretHash, expiresAt })) };
  }

  it('are found with the whole of their shop', async () => {
    const expiresAt = new Date('2030-01-31T12:00:00.123Z');
    const { id, secretHash } = await issue('whole', expiresAt);
    const state = { scope: 'write', secretHash, expiresAt, revokedAt: null, lastUsedAt: null };
    const shop = await findShop(database, shopId);
    expect(await findKeyWithShop(database, id)).to.deep.equal({ id, shopId, ...state, shop });
    expect(shop).to.include({ name: 'one', plan: 'enhanced', rateLimitPoints: 7, allowNegativeInventory: false });
  });

  it('that do not exist are not found', async () => {
    expect(await findKeyWithShop(database, mintKey().id)).to.equal(undefined);
  });

  it('note their use at most once a minute', async () => {
    const { id } = await issue('used');
    const seen = async (at: string) => {
      await touchKey(database, id, new Date(at));
      return (await findKeyWithShop(database, id))?.lastUsedAt?.toISOString();
    };
    expect(await seen('2026-01-01T00:00:00.000Z')).to.equal('2026-01-01T00:00:00.000Z');
    expect(await seen('2026-01-01T00:00:59.999Z')).to.equal('2026-01-01T00:00:00.000Z');
    expect(await seen('2026-01-01T00:01:00.000Z')).to.equal('2026-01-01T00:01:00.000Z');
    expect(await seen('2025-12-31T00:00:00.000Z'), 'a clock behind').to.equal('2026-01-01T00:01:00.000Z');
    expect(await seen('2100-01-01T00:00:00.000Z'), 'a clock ahead').to.equal('2100-01-01T00:00:00.000Z');
    expect(await seen('2026-01-01T00:02:00.000Z'), 'a right one, then').to.equal('2026-01-01T00:02:00.000Z');
  });

  it('keep the use that a clock noted which is a little ahead', async () => {
    const { id } = await issue('used ahead');
    const ahead = new Date(Date.now() + 20_000);
    await touchKey(database, id, ahead);
    await touchKey(database, id, new Date());
    expect((await findKeyWithShop(database, id))?.lastUsedAt).to.deep.equal(ahead);
  });

  it('note no use while another session holds their row, and wait for nobody', async () => {
    const { id } = await issue('held');
    const at = new Date('2026-01-01T00:00:00.000Z');
    await database.transaction(async (other) => {
      await lockKey(other, shopId, id);
      await touchKey(impatient, id, at);
    });
    expect((await findKeyWithShop(database, id))?.lastUsedAt, 'held').to.equal(null);
    await touchKey(database, id, at);
    expect((await findKeyWithShop(database, id))?.lastUsedAt, 'free again').to.deep.equal(at);
  });

  it('are revoked once, by their own shop only, and stay so', async () => {
    const { id } = await issue('revoked');
    const first = new Date('2026-01-01T00:00:00.000Z');
    expect(await revokeKey(database, otherShopId, id, first)).to.equal(undefined);
    expect((await findKeyWithShop(database, id))?.revokedAt).to.equal(null);
    expect((await revokeKey(database, shopId, id, first))?.revokedAt).to.deep.equal(first);
    expect((await revokeKey(database, shopId, id, new Date()))?.revokedAt).to.deep.equal(first);
    expect((await findKeyWithShop(database, id))?.revokedAt).to.deep.equal(first);
  });

  it('expire, and are held to be judged, by their own shop only', async () => {
    const { id } = await issue('rotated');
    const at = new Date('2026-01-01T00:00:00.000Z');
    await database.transaction(async (transaction) => {
      expect(await lockKey(transaction, otherShopId, id)).to.equal(undefined);
      expect(await lockKey(transaction, shopId, id)).to.include({ id, label: 'rotated' });
    });
    const foreign = await expireKey(database, otherShopId, id, at).catch((error: unknown) => error);
    expect(foreign).to.be.an('error');
    expect((await findKeyWithShop(database, id))?.expiresAt).to.equal(null);
    expect((await expireKey(database, shopId, id, at)).expiresAt).to.deep.equal(at);
    const earlier = new Date(at.getTime() - 1);
    for (const moment of [earlier, at]) {
      expect((await expireKey(database, shopId, id, moment)).expiresAt, 'never later').to.deep.equal(earlier);
    }
  });

  it('are listed for their shop, oldest first, without anything to verify a secret by', async () => {
    const listed = await listKeys(database, shopId);
    expect(listed.map(({ label }) => label)).to.deep.equal([
      'whole',
      'used',
      'used ahead',
      'held',
      'revoked',
      'rotated',
    ]);
    expect(listed[0]).to.not.have.property('secretHash');
    expect(await listKeys(database, otherShopId)).to.deep.equal([]);
  });
});

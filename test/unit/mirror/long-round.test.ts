import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Database } from '../../../shared/database/connect.js';
import type { SyncDeps } from '../../../shared/mirror/sync-shop.js';
import type { CommercePlatform } from '../../../shared/platform/commerce-platform.js';
import { createTokenCipher } from '../../../shared/platform/token-cipher.js';
import type { Logger } from '../../../shared/runtime/logger.js';
import { startMirrorRounds } from '../../../worker/mirror-rounds.js';
import { useDatabase } from '../../support/database/database.js';
import { platformTokenKey } from '../../support/shop/platform.js';
import { until } from '../../support/time/until.js';
import { createConnectedShop } from './fixtures.js';

const deadlineMs = 30_000;
/** Any shop is due at any time: with as many as a look finds, its round never ends. */
const [everyMs, lookEveryMs] = [0, 0];
const shopsPerLook = 100;

describe('a round of mirrors that never ends', () => {
  const postgres = useDatabase();
  const shops: number[] = [];
  before(async () => {
    const { database } = postgres;
    while (shops.length <= shopsPerLook) shops.push((await createConnectedShop(database)).id);
    await database.raw('CREATE SEQUENCE tries');
  });
  afterEach(async () => {
    await postgres.database.raw('DROP FUNCTION IF EXISTS refuse CASCADE');
    await postgres.database.raw('DELETE FROM platform_syncs');
  });

  /** Postgres does not write for these shops; `when`: an SQL condition. */
  async function refuse(shopIds: readonly number[], when: string, state = 'query_canceled'): Promise<void> {
    await postgres.database.raw(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF ${when} THEN RAISE 'held up' USING ERRCODE = '${state}'; END IF;
         RETURN NEW;
       END $$`,
    );
    await postgres.database.raw(
      `CREATE TRIGGER refuse BEFORE INSERT ON platform_syncs
       FOR EACH ROW WHEN (NEW.shop_id IN (${shopIds.join()})) EXECUTE FUNCTION refuse()`,
    );
  }

  /** What the rounds tell of a shop, as soon as it is so many messages. */
  async function toldOf(wanted: number, count: number): Promise<string[]> {
    const told: string[] = [];
    const tell = ({ shopId }: { shopId: number }, message: string) => shopId === wanted && told.push(message);
    const { database } = postgres;
    const rounds = startMirrorRounds({ database, ...emptyPlatform(), everyMs, logger: loggerOf(tell) }, lookEveryMs);
    try {
      await until(() => told.length >= count, { what: 'the shop to have its turn', deadlineMs });
    } finally {
      await rounds.stop();
    }
    return told.slice(0, count);
  }

  for (const state of ['query_canceled', 'deadlock_detected']) {
    it(`tries a shop again that failed in it (${state})`, async () => {
      const [victim = 0] = shops;
      await postgres.database.raw(`ALTER SEQUENCE tries RESTART`);
      await refuse([victim], `nextval('tries') = 1`, state);
      expect(await toldOf(victim, 2)).to.deep.equal([
        'A platform mirror was held up in Postgres; other shops go on.',
        'A platform was mirrored.',
      ]);
    });
  }

  it('brings in a shop besides as many as a look finds, which fail each time', async () => {
    await refuse(shops.slice(0, shopsPerLook), 'true');
    expect(await toldOf(shops[shopsPerLook] ?? 0, 1)).to.deep.equal(['A platform was mirrored.']);
  });

  it('says, before its end, that what ended the round before is over', async () => {
    let looks = 0;
    const connection = {
      query: async (asked: unknown) => {
        await turn();
        if (!JSON.stringify(asked).includes('LEFT JOIN platform_syncs')) return { rows: [] };
        looks += 1;
        if (looks === 1) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
        return { rows: Array.from({ length: 100 }, (_, id) => ({ id })) };
      },
    };
    const client = { acquireConnection: () => Promise.resolve(connection), releaseConnection: () => Promise.resolve() };
    const database = { client } as unknown as Database;
    const said: string[] = [];
    const logger = loggerOf((...given: unknown[]) => said.push(String(given.at(-1))));
    const rounds = startMirrorRounds({ database, ...emptyPlatform(), everyMs, logger }, lookEveryMs);
    try {
      await until(() => said.length >= 2, { what: 'the end of the fault', deadlineMs });
    } finally {
      await rounds.stop();
    }
    const fault = 'The platform mirrors could not be looked after.';
    expect(said).to.deep.equal([fault, `This is over: ${fault}`]);
  });
});

/** What a round needs besides Postgres; the platform of all shops has nothing to list. */
function emptyPlatform(): Omit<SyncDeps, 'database'> {
  const list = () => Promise.resolve({ ok: true as const, data: { items: [], next: null } });
  const platform: CommercePlatform = {
    readLevels: () => Promise.reject(new Error('not asked')),
    listLocations: list,
    listVariants: list,
  };
  return { platform, tokenCipher: createTokenCipher(platformTokenKey) };
}

function loggerOf(say: (...given: never[]) => unknown): Logger {
  return { info: say, warn: say, error: say } as unknown as Logger;
}

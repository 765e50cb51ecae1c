import { expect } from 'chai';
import { createShop } from '../../../shared/database/shops.js';
import { useDatabase } from '../../support/database/database.js';
import { connectPlatform, platformTokenKey } from '../../support/shop/platform.js';
import { manyVariants, startGatedPlatform } from '../mirror/gated-platform.js';
import type { GatedPlatform } from '../mirror/gated-platform.js';
import { createCli } from './run-manage.js';
import type { Cli } from './run-manage.js';

interface Document {
  error?: { message: string };
  shops: { shopId: number; status: string; removedCount: number; problem: { code: string } | null }[];
}

describe('npm run manage -- platform sync, where Postgres fails at a shop', () => {
  const postgres = useDatabase();
  let all: GatedPlatform;
  let fewer: GatedPlatform;
  let cli: Cli;
  /** The first has three variants that are gone; Postgres fails at the second. */
  let [first, second, third] = [0, 0, 0];
  before(async () => {
    all = await startGatedPlatform(manyVariants(5));
    fewer = await startGatedPlatform(manyVariants(2));
    const env = { PLATFORM_TOKEN_KEY: platformTokenKey, PLATFORM_ALLOW_LOOPBACK: 'true' };
    cli = createCli({ DATABASE_URL: postgres.url, ...env });
  });
  after(async () => {
    await all.stop();
    await fewer.stop();
  });
  beforeEach(async () => {
    await postgres.database.raw('UPDATE shops SET platform_domain = NULL, platform_token_sealed = NULL');
    [first, second, third] = [await connectedShop(), await connectedShop(), await connectedShop()];
    await cli.answer(['platform', 'sync', '--shop', String(first)]);
    await connectPlatform(postgres.database, first, fewer.url);
  });
  afterEach(() => postgres.database.raw('DROP FUNCTION fail_for_test CASCADE'));

  async function connectedShop(): Promise<number> {
    const { id } = await createShop(postgres.database, { name: 'CLI', plan: 'enhanced' });
    await connectPlatform(postgres.database, id, all.url);
    return id;
  }
  const failWith = (state: string, message: string) =>
    postgres.database.raw(`
      CREATE FUNCTION fail_for_test() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${state}'; END $$;
      CREATE TRIGGER fail_for_test BEFORE INSERT ON platform_sightings
        FOR EACH ROW WHEN (NEW.shop_id = ${String(second)}) EXECUTE FUNCTION fail_for_test()`);
  const sync = (...more: string[]) => cli.run(['platform', 'sync', '--remove-gone', ...more]);

  it('with a deadlock, that shop is held up, and the others are brought in', async () => {
    await failWith('40P01', 'deadlock detected');
    const { code, stdout } = await sync('--json');
    const { shops } = JSON.parse(stdout) as Document;
    expect(shops.map(({ shopId, removedCount, problem }) => [shopId, removedCount, problem?.code])).to.deep.equal([
      [first, 3, undefined],
      [second, 0, 'held-up'],
      [third, 0, undefined],
    ]);
    expect(code).to.equal(75);
  });

  it('with anything else, it ends there, and says what became of the shops before it', async () => {
    await failWith('57P01', 'terminating connection');
    const { code, stdout, stderr } = await sync('--json');
    const { error, shops } = JSON.parse(stdout) as Document;
    const said = `The database could not do it: terminating connection. This ended the run in shop ${second}.`;
    expect({ code, message: error?.message.split('\n')[0] }).to.deep.equal({ code: 69, message: said });
    expect(shops).to.have.lengthOf(1);
    expect(shops[0]).to.include({ shopId: first, status: 'complete', removedCount: 3 });
    expect(stderr).to.contain(`Shop ${first}: complete\n`).and.contain('Gone from the platform, and removed: 3\n');
  });

  it('with anything else at the first of them, it says that alone', async () => {
    await failWith('57P01', 'terminating connection');
    const { code, stdout, stderr } = await sync('--shop', String(second));
    const said = `The database could not do it: terminating connection. This ended the run in shop ${second}.\n`;
    expect({ code, stdout, stderr }).to.deep.equal({ code: 69, stdout: '', stderr: said });
  });
});

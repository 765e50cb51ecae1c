import { expect } from 'chai';
import { apiSettings } from '../../../api/config.js';
import { createPools } from '../../../api/pools.js';
import type { Pools } from '../../../api/pools.js';
import type { Database } from '../../../shared/database/connect.js';
import { createEmptyDatabase } from '../../support/processes/servers.js';

describe('the pools of an API process', () => {
  let databaseOf: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let pools: Pools | undefined;
  before(async () => (databaseOf = await createEmptyDatabase()));
  afterEach(() => pools?.destroy());
  after(() => databaseOf.drop());

  const sleep = (seconds: number, READ_TIMEOUT_MS: number) => {
    pools = createPools({ DATABASE_URL: databaseOf.url, DATABASE_POOL_MAX: 4, READ_TIMEOUT_MS });
    return pools.database.raw('SELECT pg_sleep(?)', [seconds]).then(
      () => 'answered',
      (error: unknown) => String(error),
    );
  };

  it('leave a connection to each of the two at least, also of the fewest that there may be', async () => {
    const DATABASE_POOL_MAX = apiSettings.DATABASE_POOL_MAX.minimum;
    pools = createPools({ DATABASE_URL: databaseOf.url, DATABASE_POOL_MAX, READ_TIMEOUT_MS: 5_000 });
    const one = 'SELECT 1';
    await pools.database.raw(one);
    expect(await pools.reads.ask(1, (database) => database.raw(one))).to.have.property('ok', true);
    expect(pools.use()).to.deep.equal({ used: 0, free: DATABASE_POOL_MAX, waiting: 0 });
  });

  it('count as waiting also who waits for a turn to read, and has asked neither pool for anything yet', async () => {
    pools = createPools({ DATABASE_URL: databaseOf.url, DATABASE_POOL_MAX: 2, READ_TIMEOUT_MS: 5_000 });
    const { reads, use } = pools;
    let end: () => void = () => undefined;
    const first = reads.ask(1, () => new Promise<void>((resolve) => (end = resolve)));
    const second = reads.ask(1, () => Promise.resolve());
    await new Promise(setImmediate);
    expect(use().waiting).to.equal(1);
    end();
    await Promise.all([first, second]);
    expect(use().waiting).to.equal(0);
  });

  it('do not count a read that waits for its shop while connections are free', async () => {
    pools = createPools({ DATABASE_URL: databaseOf.url, DATABASE_POOL_MAX: 10, READ_TIMEOUT_MS: 5_000 });
    const { reads, use } = pools;
    const remove = reads.addUnread(1, 64 * 1_024 * 1_024);
    const read = reads.ask(1, () => Promise.resolve());
    await new Promise(setImmediate);
    expect([reads.waiting(), use().waiting]).to.deep.equal([1, 0]);
    remove();
    await read;
  });

  it('give another shop no turn without a connection, of however few, beside a read and a page of one', async () => {
    const DATABASE_POOL_MAX = 4;
    pools = createPools({ DATABASE_URL: databaseOf.url, DATABASE_POOL_MAX, READ_TIMEOUT_MS: 10_000 });
    const { reads } = pools;
    const lasting = (database: Database) => database.raw('SELECT pg_sleep(5)');
    const asked = [reads.ask(1, lasting), reads.askAlone(1, lasting)];
    await new Promise(setImmediate);
    expect(await reads.ask(2, (database) => database.raw('SELECT 1'))).to.have.property('ok', true);
    await Promise.all(asked);
  });

  it('do not count a page that waits for another such page, which wants no connection yet', async () => {
    pools = createPools({ DATABASE_URL: databaseOf.url, DATABASE_POOL_MAX: 10, READ_TIMEOUT_MS: 5_000 });
    const { reads, use } = pools;
    const ends: (() => void)[] = [];
    const lasting = () => new Promise<void>((resolve) => ends.push(resolve));
    const asked = [reads.ask(1, lasting), reads.askAlone(1, lasting), reads.askAlone(2, lasting)];
    await new Promise(setImmediate);
    expect([ends.length, reads.waiting(), use().waiting]).to.deep.equal([2, 1, 0]);
    for (const end of ends) end();
    await new Promise(setImmediate);
    ends.at(-1)?.();
    await Promise.all(asked);
  });

  it('give up a question of its own that Postgres does not answer, however long a read may take', async () => {
    expect(await sleep(60, 3_600_000)).to.contain('Query read timeout');
  });

  it('give up a read after its own time', async () => {
    pools = createPools({ DATABASE_URL: databaseOf.url, DATABASE_POOL_MAX: 4, READ_TIMEOUT_MS: 100 });
    const read = pools.reads.ask(1, (database) => database.raw('SELECT pg_sleep(2)')).catch(String);
    expect(await read).to.contain('Query read timeout');
  });

  it('wait for one longer than for a read that may take no time', async () => {
    expect(await sleep(0.5, 100)).to.equal('answered');
  });
});

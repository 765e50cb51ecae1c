import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { seedDemo } from '../../shared/standalone/demo-data.js';
import { checkGivenPostgres } from '../../shared/standalone/given-postgres.js';
import { execute } from '../support/database/execute.js';
import { countCases } from '../support/long-run/count-cases.js';
import { useGivenServers } from '../support/processes/given-servers.js';
import { refusal } from '../support/processes/npm-start-refusal.js';
import type { Refusal } from '../support/processes/npm-start-refusal.js';
import { npmStart } from '../support/processes/npm-start.js';
import { migrateTestDatabase, startTestPostgres } from '../support/processes/servers.js';
import { until } from '../support/time/until.js';

const platformTokenKey = 'ab'.repeat(32);

describe('T19: npm start where the demo data cannot be written says what to do, in time', () => {
  countCases('T19', 'starts that cannot write');
  const given = useGivenServers();
  before(async () => {
    await fill(given.databaseUrl);
  });

  /** As an earlier start leaves it, whose stand-in had another port. */
  const fill = (databaseUrl: string) =>
    seedDemo({ databaseUrl, dataFolder: given.folder, platformUrl: 'http://127.0.0.1:1', platformTokenKey });

  async function refusedOn(databaseUrl: string): Promise<Refusal> {
    const refused = await refusal(npmStart(given.folder, { DATABASE_URL: databaseUrl, REDIS_URL: given.redisUrl }));
    expect(refused.output).not.to.include('a fault that nobody caught');
    expect(refused.code).to.equal(78);
    return refused;
  }

  it('as in a database that is set to read-only', async () => {
    const name = new URL(given.databaseUrl).pathname.slice(1);
    await execute(given.databaseUrl, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    try {
      const { output } = await refusedOn(given.databaseUrl);
      expect(output).to.match(/The demo data cannot be written: cannot execute .* in a read-only transaction\./);
      const { text } = await checkGivenPostgres(given.databaseUrl);
      expect(text).to.include('takes no writes');
      expect(output).to.include(text);
    } finally {
      await execute(given.databaseUrl, `SET TRANSACTION READ WRITE; ALTER DATABASE ${name} RESET ALL`);
    }
  });

  it('as for a role that may only read', async () => {
    const role = `reader_of_${new URL(given.databaseUrl).pathname.slice(1)}`;
    await execute(
      given.databaseUrl,
      `CREATE ROLE ${role} LOGIN PASSWORD 'secret'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`,
    );
    try {
      const { output } = await refusedOn(
        Object.assign(new URL(given.databaseUrl), { username: role, password: 'secret' }).href,
      );
      expect(output).to.match(
        /The demo data cannot be written: permission denied for table shops\.\nSee npm run doctor/,
      );
    } finally {
      await execute(given.databaseUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('as while no commit returns, since the synchronous standby is away', async () => {
    const server = await startTestPostgres();
    try {
      const { url } = await migrateTestDatabase(server);
      await fill(url);
      await execute(url, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
      await execute(url, 'SELECT pg_reload_conf()');
      const { output } = await refusedOn(url);
      expect(output).to.match(
        /The demo data cannot be written: .*lets no commit return: a synchronous standby is away/s,
      );
    } finally {
      await server.stop();
    }
  });

  for (const path of ['demo-keys.json', 'platform-token-key', 'demo.json']) {
    it(`as in a data folder that does not take ${path}`, async () => {
      // A name that is taken by a folder, since root is refused nothing.
      await rm(join(given.folder, path), { force: true });
      await mkdir(join(given.folder, path));
      try {
        expect((await refusedOn(given.databaseUrl)).output).to.match(
          /The data folder .* cannot be used: .*Set DATA_DIR/s,
        );
      } finally {
        await rm(join(given.folder, path), { recursive: true });
      }
    });
  }

  it('as in a data folder that does not take demo.json any more once everything runs', async () => {
    const started = npmStart(given.folder, { DATABASE_URL: given.databaseUrl, REDIS_URL: given.redisUrl });
    const isUnderWay = () => started.output().includes('Postgres: the one of DATABASE_URL');
    await until(isUnderWay, { deadlineMs: 10_000, what: () => started.output() });
    // By then the file of an earlier start has been removed.
    await mkdir(join(given.folder, 'demo.json'));
    const { code, output } = await refusal(started);
    await rm(join(given.folder, 'demo.json'), { recursive: true });
    expect(output).to.match(/Demo data: there.*The data folder .* cannot be used: .*Set DATA_DIR/s);
    expect(output).not.to.include('a fault that nobody caught');
    expect(code).to.equal(78);
  });

  it('as with a file of the key of platform tokens in which there is none', async () => {
    await writeFile(join(given.folder, 'platform-token-key'), 'no key\n');
    const { output } = await refusedOn(given.databaseUrl);
    expect(output).to.include(`What is in ${join(given.folder, 'platform-token-key')} must be 32 random bytes`);
    await rm(join(given.folder, 'platform-token-key'));
  });
});

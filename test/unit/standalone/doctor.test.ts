import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Database } from '../../../shared/database/connect.js';
import { createShop } from '../../../shared/database/shops.js';
import { lockPath, takeLock } from '../../../shared/standalone/instance-lock.js';
import { connectForTest } from '../../support/database/database.js';
import { createEmptyDatabase, createTestDatabase } from '../../support/processes/servers.js';
import { startService } from '../../support/processes/service.js';
import type { Service } from '../../support/processes/service.js';
import { stopProcess } from '../../support/processes/service-process.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { doctor } from './run-doctor.js';

describe('npm run doctor', () => {
  describe('with servers that are given', () => {
    let service: Service;
    let database: Database;
    let given: { DATABASE_URL: string; REDIS_URL: string };
    before(async () => {
      service = await startService({ apis: 0, workers: 1 });
      database = connectForTest(service.databaseUrl, { poolMax: 1 });
      given = { DATABASE_URL: service.databaseUrl, REDIS_URL: service.redisUrl };
    });
    after(async () => {
      await database.destroy();
      await service.stop();
    });

    it('asks each of them, names its version and where it is, and ends with 0 where all is there', async () => {
      const { code, lines } = await doctor(given);
      const { hostname, port } = new URL(given.REDIS_URL);
      expect(lines.get('Postgres'))
        .to.match(/^(?:ok|but) 18\.\d+, database test_\w+ on 127\.0\.0\.1:\d+ \(DATABASE_URL\)/)
        // The one that npm embeds is older than that, and fine where only this machine reaches it.
        .and.match(
          /^ok 18\.(?:[6-9]|\d\d)[^;]*$|^but 18\.[0-5], .*; 18\.6 mends security flaws of this version: upgrade, /,
        );
      expect(lines.get('Schema')).to.equal('ok up to date');
      expect(lines.get('Redis'))
        .to.match(/^ok \d+\.\d+\.\d+, noeviction, on /)
        .and.contain(`${hostname}:${port}`);
      expect(lines.get('Workers')).to.equal('ok 1 alive');
      expect(code).to.equal(0);
    });

    it('knows no password of theirs', async () => {
      const { output } = await doctor(given);
      for (const url of Object.values(given)) expect(output).to.not.contain(new URL(url).password);
    });

    it('shows the limit of every shop, and the shops that have another', async () => {
      const { id } = await createShop(database, { name: 'limited', plan: 'enhanced', rateLimitPoints: 42 });
      const { lines } = await doctor({ ...given, RATE_LIMIT_POINTS: '700' });
      expect(lines.get('Limits')).to.match(/^ok 700 requests in 60 s for each shop/);
      expect(lines.get('Limits')).to.match(new RegExp(`limits of their own: shop ${id} 42$`));
    });

    it('takes an empty limit for the default, as the API does', async () => {
      const { lines } = await doctor({ ...given, RATE_LIMIT_POINTS: '', RATE_LIMIT_WINDOW_SECONDS: '' });
      expect(lines.get('Limits')).to.match(/^ok 600 requests in 60 s for each shop/);
    });

    it('says NO to a limit that the API would not start with, and why', async () => {
      const { code, lines } = await doctor({ ...given, RATE_LIMIT_POINTS: '6oo' });
      expect(lines.get('Limits')).to.match(/^NO RATE_LIMIT_POINTS is "6oo", but must be a whole number from 1\./);
      expect(code).to.equal(1);
    });

    for (const [what, setting, said] of [
      [
        'whose commits may be lost',
        'synchronous_commit = off',
        / may lose what it has answered: .*synchronous_commit off/,
      ],
      ['that takes no writes', 'default_transaction_read_only = on', / takes no writes: /],
      ['that takes NULL in an array for a text', 'array_nulls = off', /every write fails: array_nulls is off\.$/],
      ['that runs no trigger', 'session_replication_role = replica', / runs no trigger, .* is replica\.$/],
    ] as const) {
      it(`says NO to a Postgres ${what}, and what to set`, async () => {
        const name = new URL(given.DATABASE_URL).pathname.slice(1);
        await database.raw(`ALTER DATABASE ${name} SET ${setting}`);
        const { code, lines } = await doctor(given);
        await database.raw(`ALTER DATABASE ${name} RESET ${setting.split(' ')[0] ?? ''}`);
        expect(lines.get('Postgres')).to.match(/^NO /).and.match(said);
        expect(code).to.equal(1);
      });
    }

    it('says NO to tables that a crash would empty, and what to do', async () => {
      await database.raw('ALTER TABLE ledger SET UNLOGGED');
      const { code, lines } = await doctor(given);
      await database.raw('ALTER TABLE ledger SET LOGGED');
      expect(lines.get('Schema')).to.equal('NO all there, but a crash of Postgres empties ledger.');
      expect(code).to.equal(1);
    });

    it('ends also where another session has locked what it asks', async () => {
      const { code, lines } = await database.transaction(async (transaction) => {
        await transaction.raw('LOCK TABLE shops');
        return doctor(given);
      });
      expect(lines.get('Limits')).to.match(/^NO unknown: no answer within 5 s\. .*pg_locks/);
      expect(code).to.equal(1);
    });

    it('tells a server that lets nobody in from one that does not answer, and says what to mend', async () => {
      const [postgres, redis] = [new URL(given.DATABASE_URL), new URL(given.REDIS_URL)];
      postgres.password = redis.password = 'wr0ng';
      const wrong = await doctor({ DATABASE_URL: postgres.href, REDIS_URL: redis.href });
      expect(wrong.lines.get('Postgres')).to.match(
        / refuses: password .* Mend the user or the password in DATABASE_URL\.$/,
      );
      expect(wrong.lines.get('Redis')).to.match(/ refuses: WRONGPASS .* Mend the user or the password in REDIS_URL\.$/);
      postgres.password = redis.password = '';
      const none = await doctor({ DATABASE_URL: postgres.href, REDIS_URL: redis.href });
      expect(none.lines.get('Postgres')).to.match(/ refuses: SASL.* Mend the user or the password in DATABASE_URL\.$/);
      expect(none.code, 'no socket keeps it').to.equal(1);
      expect(none.lines.get('Redis')).to.match(/ refuses: NOAUTH .* Mend the user or the password in REDIS_URL\.$/);
      const elsewhere = given.DATABASE_URL.replace(/[^/]+$/, 'not_there');
      const { code, lines, output } = await doctor({ ...given, DATABASE_URL: elsewhere });
      expect(lines.get('Postgres')).to.match(/ refuses: database "not_there" does not exist\. Make it /);
      expect(code).to.equal(1);
      expect(wrong.output + none.output + output).to.not.contain('wr0ng');
    });

    it('says NO to the number of a database that Redis does not have, and what to mend', async () => {
      const { code, lines } = await doctor({ ...given, REDIS_URL: `${given.REDIS_URL}/16` });
      expect(lines.get('Redis')).to.match(/ refuses: ERR DB index .* Mend the number of its database /);
      expect(lines.get('Workers')).to.equal('NO unknown: Redis cannot be asked');
      expect(code).to.equal(1);
    });

    it('says NO to a database of Redis that is no number', async () => {
      const { code, lines } = await doctor({ ...given, REDIS_URL: `${given.REDIS_URL}/one` });
      expect(lines.get('Redis')).to.match(/^NO REDIS_URL must end with the number of a database, as \/1, /);
      expect(code).to.equal(1);
    });

    it('says that a queue without an append-only file is empty after a restart, which loses nothing', async () => {
      const redis = new Redis(given.REDIS_URL);
      await redis.config('SET', 'appendonly', 'no');
      const { code, lines } = await doctor(given);
      await redis.config('SET', 'appendonly', 'yes');
      redis.disconnect();
      expect(lines.get('Redis')).to.match(/^but .*no append-only file/);
      expect(code).to.equal(0);
    });

    it('says NO to a Redis that evicts, and what to do', async () => {
      const redis = new Redis(given.REDIS_URL);
      await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      const { code, lines } = await doctor(given);
      await redis.config('SET', 'maxmemory-policy', 'noeviction');
      redis.disconnect();
      expect(lines.get('Redis')).to.match(/^NO .*maxmemory-policy is allkeys-lru/);
      expect(code).to.equal(1);
    });

    it('says NO to a schema that is not there, and what to do', async () => {
      const empty = await createEmptyDatabase();
      const { code, lines } = await doctor({ ...given, DATABASE_URL: empty.url });
      await empty.drop();
      expect(lines.get('Schema')).to.match(/^NO 0001-initial-schema, .* missing\. Run: npm run migrate$/);
      expect(lines.get('Limits')).to.equal('NO unknown: there is no schema yet');
      expect(code).to.equal(1);
    });

    it('says NO where the workers are those of another database, and what to do', async () => {
      const another = await createTestDatabase();
      const { code, lines } = await doctor({ ...given, DATABASE_URL: another.url });
      await another.drop();
      expect(lines.get('Workers')).to.match(/^NO 1 alive, writing to another database, so /);
      expect(code).to.equal(1);
    });

    it('says NO where no worker is alive, and what to do', async () => {
      await Promise.all(service.workers.map(stopProcess));
      const { code, lines } = await doctor(given);
      expect(lines.get('Workers')).to.equal('NO none is alive, so the API refuses every write. Run: npm run worker');
      expect(code).to.equal(1);
    });
  });

  describe('with one server given, so that npm start is what will run', () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>;
    let env: Record<string, string | undefined>;
    before(async () => {
      folder = await temporaryFolder();
      env = { DATA_DIR: `${folder.path}/data`, HOME: process.env.HOME };
    });
    after(() => folder.remove());

    it('says of a schema that is not there yet that npm start brings it', async () => {
      const empty = await createEmptyDatabase();
      const { code, lines, output } = await doctor({ ...env, DATABASE_URL: empty.url });
      await empty.drop();
      expect(lines.get('Schema')).to.match(/^but 0001-initial-schema, .* missing; npm start migrates by itself$/);
      expect(lines.get('Limits')).to.equal('but unknown until npm start has migrated');
      expect(output).to.contain('All is there: npm start.');
      expect(code).to.equal(0);
    });

    it('demands no worker, since npm start brings its own', async () => {
      const service = await startService({ apis: 0, workers: 0 });
      const { code, lines } = await doctor({ ...env, REDIS_URL: service.redisUrl });
      await service.stop();
      expect(lines.get('Workers')).to.equal('ok none is alive; npm start brings its own');
      expect(code).to.equal(0);
    });
  });

  for (const [encoding, locale, said] of [
    // In which texts are counted or compared as bytes.
    ['SQL_ASCII', `LOCALE_PROVIDER libc LOCALE 'C'`, 'has the encoding SQL_ASCII, by which'],
    [
      'UTF8',
      `LOCALE_PROVIDER libc LOCALE 'C'`,
      'knows no upper and lower case beyond ASCII, or not that of I, by which',
    ],
    // In which an I in lower case has no dot: a search for "iron" would not find "Iron".
    ['UTF8', `LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C.UTF-8'`, 'or not that of I, by which'],
  ] as const) {
    it(`says NO to a database of ${encoding} and ${locale}`, async () => {
      const empty = await createEmptyDatabase();
      const { url } = empty;
      const name = `${new URL(url).pathname.slice(1)}_c`;
      const server = connectForTest(url, { poolMax: 1 });
      await server.raw(`CREATE DATABASE ?? TEMPLATE template0 ENCODING '${encoding}' ${locale}`, [name]);
      const { code, lines } = await doctor({ DATABASE_URL: url.replace(/[^/]+$/, name) });
      await server.raw('DROP DATABASE ??', [name]);
      await server.destroy();
      await empty.drop();
      expect(lines.get('Postgres'))
        .to.match(/^NO 18\./)
        .and.contain(said);
      expect(code).to.equal(1);
    });
  }

  it('says why a given server does not answer, without its password', async () => {
    const { code, lines, output } = await doctor({
      DATABASE_URL: 'postgres://u:p4ss@127.0.0.1:1/x',
      REDIS_URL: 'redis://:p4ss@127.0.0.1:1',
    });
    expect(lines.get('Postgres')).to.match(/^NO .*does not answer: .*ECONNREFUSED.* mend DATABASE_URL\.$/);
    expect(lines.get('Redis')).to.match(/^NO .*does not answer: .*ECONNREFUSED.* mend REDIS_URL\.$/);
    expect(lines.get('Schema')).to.equal('NO unknown: Postgres cannot be asked');
    expect(lines.get('Workers')).to.equal('NO unknown: Redis cannot be asked');
    expect(code).to.equal(1);
    expect(output).to.not.contain('p4ss');
  });

  it('says NO to an address that the processes would refuse, without its password', async () => {
    const { code, lines, output } = await doctor({ DATABASE_URL: ' postgres://u:p4ss@h/x', REDIS_URL: '127.0.0.1:1' });
    expect(lines.get('Postgres')).to.equal(
      'NO DATABASE_URL must be an address that begins with postgres:// or postgresql://.',
    );
    expect(lines.get('Redis')).to.equal('NO REDIS_URL must be an address that begins with redis:// or rediss://.');
    expect(code).to.equal(1);
    expect(output).to.not.contain('p4ss');
  });

  it('says NO to a port that npm start would refuse', async () => {
    const folder = await temporaryFolder();
    const { code, lines } = await doctor({ DATA_DIR: `${folder.path}/data`, HOME: process.env.HOME, PORT: '80x' });
    await folder.remove();
    expect(lines.get('Port')).to.match(/^NO PORT is "80x", but must be a whole number from 0 to 65535\./);
    expect(code).to.equal(1);
  });

  it('says NO to NODE_ENV=production, and names an npm start that runs on the data folder already', async () => {
    const folder = await temporaryFolder();
    const lock = takeLock(lockPath(folder.path));
    const { code, lines } = await doctor({ DATA_DIR: folder.path, HOME: process.env.HOME, NODE_ENV: 'production' });
    await folder.remove();
    expect(lock.ok).to.equal(true);
    expect(lines.get('NODE_ENV')).to.match(/^NO NODE_ENV is production, where npm start is refused/);
    expect(lines.get('Data folder')).to.equal(
      `but ${folder.path}; npm start runs on it already: process ${process.pid}`,
    );
    expect(code).to.equal(1);
  });

  it('without any server given names the programs that npm start would run, and where they are', async () => {
    const folder = await temporaryFolder();
    const { code, lines } = await doctor({ DATA_DIR: `${folder.path}/data`, HOME: process.env.HOME });
    await folder.remove();
    expect(lines.get('Postgres')).to.match(/^ok postgres \(PostgreSQL\) 18\.\d+, embedded \(\/.*postgres.*\)$/);
    expect(lines.get('Redis')).to.match(/^ok \d+\.\d+\.\d+, .* \(\/.*\)$/);
    expect(lines.get('Packages')).to.match(/^ok all \d+ are there$/);
    expect(lines.get('Data folder')).to.equal(`ok ${folder.path}/data, which npm start will make`);
    expect(existsSync(`${folder.path}/data`), 'whoever mistyped it has no folder to clear away').to.equal(false);
    expect(code).to.equal(0);
  });
});

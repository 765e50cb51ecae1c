import { once } from 'node:events';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { readDatabaseIdentity } from '../../../shared/database/database-identity.js';
import { createShop } from '../../../shared/database/shops.js';
import { keys } from '../../../shared/queue/names.js';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import { startService } from '../../support/processes/service.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { doctor, startDoctor } from './run-doctor.js';

/** A beat that says more counts for nothing (`beatAheadMsMax`). */
const listedMs = 50_000;

const away = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };

describe('what npm run doctor says', () => {
  it('of itself: what it reads, and how it ends', async () => {
    const { code, output } = await doctor({}, ['--help']);
    expect(output).to.match(/^ {2}DATABASE_URL +The Postgres to look at; absent, /m);
    expect(output).to.match(/^ {2}RATE_LIMIT_POINTS +\S/m);
    expect(output).to.contain('Exit code 1 where something must be mended.');
    expect(code).to.equal(0);
  });

  it('of a role: which right it lacks, and what to do where it may not even connect', async () => {
    const own = await createTestDatabase();
    const database = connectForTest(own.url, { poolMax: 1 });
    const asRole = new URL(own.url);
    const role = `doctored_${process.pid}`;
    Object.assign(asRole, { username: role, password: 'x' });
    const env = { DATABASE_URL: asRole.href, REDIS_URL: 'redis://127.0.0.1:1' };
    await database.raw(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    try {
      const denied = 'NO unknown: permission denied for table knex_migrations';
      const unprivileged = await doctor(env);
      expect(unprivileged.lines.get('Schema')).to.equal(denied);
      expect(unprivileged.lines.get('Limits')).to.equal(denied);
      await database.raw(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
      expect((await doctor(env)).lines.get('Schema')).to.match(
        /^NO all there, but this role lacks a right to .*\bledger\b.*: writes that need it wait, and fail\.$/,
      );
      await database.raw(`REVOKE CONNECT ON DATABASE ${asRole.pathname.slice(1)} FROM PUBLIC`);
      const { lines } = await doctor(env);
      expect(lines.get('Postgres')).to.match(
        / refuses: permission denied for database .* \(GRANT CONNECT ON DATABASE /,
      );
    } finally {
      await database.raw(`DROP OWNED BY ${role}`);
      await database.raw(`DROP ROLE ${role}`);
      await database.destroy();
      await own.drop();
    }
  });

  for (const [what, made, said] of [
    [
      'may not log in',
      'NOLOGIN',
      / is not permitted to log in\. Mend the user in DATABASE_URL, or its pg_hba\.conf\.$/,
    ],
    ['has its connections', 'LOGIN CONNECTION LIMIT 0', /too many connections .* Allow more connections /],
  ] as const) {
    it(`of a role that ${what}: what to do`, async () => {
      const own = await createTestDatabase();
      const database = connectForTest(own.url, { poolMax: 1 });
      const asRole = new URL(own.url);
      Object.assign(asRole, { username: `refused_${process.pid}`, password: 'x' });
      try {
        await database.raw(`CREATE ROLE ${asRole.username} ${made} PASSWORD 'x'`);
        const { lines } = await doctor({ DATABASE_URL: asRole.href, REDIS_URL: 'redis://127.0.0.1:1' });
        expect(lines.get('Postgres')).to.match(said);
      } finally {
        await database.raw(`DROP ROLE ${asRole.username}`);
        await database.destroy();
        await own.drop();
      }
    });
  }

  it('of the shops with another limit: five of them, and how many more', async () => {
    const own = await createTestDatabase();
    const database = connectForTest(own.url, { poolMax: 1 });
    const limits = Array.from({ length: 7 }, (_, index) => 10 + index);
    await createShop(database, { name: 'like all', plan: 'enhanced' });
    for (const rateLimitPoints of limits) await createShop(database, { name: 'x', plan: 'enhanced', rateLimitPoints });
    await database.destroy();
    const { lines } = await doctor({ DATABASE_URL: own.url, REDIS_URL: 'redis://127.0.0.1:1' });
    await own.drop();
    expect(lines.get('Limits')).to.match(
      /limits of their own: shop 2 10, shop 3 11, shop 4 12, shop 5 13, shop 6 14, 2 more$/,
    );
  });

  it('of workers: of those alone that are alive, and whether any of them writes to another database', async () => {
    const service = await startService({ apis: 0, workers: 0 });
    const given = { DATABASE_URL: service.databaseUrl, REDIS_URL: service.redisUrl };
    const database = connectForTest(service.databaseUrl, { poolMax: 1 });
    const redis = new Redis(service.redisUrl);
    const said = async () => (await doctor(given)).lines.get('Workers');
    try {
      const own = (await readDatabaseIdentity(database)) ?? '';
      // As a kill −9 leaves them.
      await redis.zadd(keys.workers, Date.now() - 1_000, 'killed');
      await redis.zadd(keys.databases, Date.now() - 1_000, 'another');
      expect(await said()).to.match(/^NO none is alive, /);
      // As a Redis whose clock was ahead leaves them.
      await redis.zadd(keys.workers, Date.now() + 3_600_000, 'killed');
      await redis.zadd(keys.databases, Date.now() + 3_600_000, 'another');
      expect(await said()).to.match(/^NO none is alive, /);
      const alive = (name: string, database: string) =>
        redis
          .multi()
          .zadd(keys.workers, Date.now() + listedMs, name)
          .zadd(keys.databases, Date.now() + listedMs, database)
          .exec();
      await alive('alive', own);
      expect(await said()).to.equal('ok 1 alive');
      await alive('alive', own);
      await redis.set(keys.refusal, 'No space left on device');
      expect(await said()).to.equal(
        'NO 1 alive, and Postgres refuses what they write: No space left on device. See its log.',
      );
      // As a Redis whose clock was ahead leaves it.
      await redis.set(keys.refusal, 'No space left on device', 'PX', 3_600_000);
      expect(await said()).to.equal('ok 1 alive');
      // As the last worker leaves it for a moment.
      await redis.set(keys.refusal, 'No space left on device');
      await redis.zrem(keys.workers, 'alive');
      expect(await said()).to.match(/^NO none is alive, /);
      await redis.del(keys.refusal);
      await redis.set(`${keys.cutOff}:alive`, '');
      await alive('alive', own);
      expect(await said()).to.match(/^NO 1 alive, and none can use Postgres/);
      await alive('alive', own);
      await alive('as well', own);
      expect(await said()).to.equal('but 2 alive, of which 1 cannot use Postgres: see their logs');
      await redis.del(`${keys.cutOff}:alive`);
      await redis.zrem(keys.workers, 'as well');
      await alive('alive', own);
      await alive('of another', 'another');
      expect(await said()).to.match(/^NO 2 alive, writing to another database, /);
    } finally {
      redis.disconnect();
      await database.destroy();
      await service.stop();
    }
  });

  it('of workers, where npm start would run the Postgres: whether theirs is that one, also while it does not run', async () => {
    const service = await startService({ apis: 0, workers: 0 });
    const folder = await temporaryFolder();
    const database = connectForTest(Object.assign(new URL(service.databaseUrl), { pathname: 'postgres' }).href);
    const redis = new Redis(service.redisUrl);
    const data = join(folder.path, 'data');
    const start = { REDIS_URL: service.redisUrl, DATA_DIR: data, HOME: process.env.HOME };
    const alive = async (names: string[]) => {
      await redis.del(keys.workers, keys.databases);
      for (const key of [keys.workers, keys.databases])
        await redis.zadd(key, ...names.flatMap((name) => [Date.now() + listedMs, name]));
    };
    try {
      await alive(['another']);
      const first = await doctor(start);
      expect(first.lines.get('Workers')).to.match(/^NO 1 alive, writing to another database, so /);
      expect(first.output).to.not.contain('All is there');
      expect(first.code).to.equal(1);
      // As an earlier start leaves it, with the cluster of a server that a start would find here.
      const own = (await readDatabaseIdentity(database)) ?? '';
      const { rows } = await database.raw<{ rows: { path: string }[] }>(
        "SELECT current_setting('data_directory') AS path",
      );
      const control = 'global/pg_control';
      const cluster = join(data, 'postgres/cluster');
      await mkdir(join(cluster, 'global'), { recursive: true });
      await alive(['another']);
      const unknown = await doctor(start);
      expect(unknown.lines.get('Workers')).to.match(/^NO 1 alive, and whether they write to .* cannot be told: ENOENT/);
      expect(unknown.output).to.contain('npm start refuses unless it is theirs.');
      await cp(join(rows[0]?.path ?? '', control), join(cluster, control));
      await alive(['another']);
      expect((await doctor(start)).lines.get('Workers')).to.match(/^NO 1 alive, writing to another database, /);
      await alive([own]);
      const theirs = await doctor(start);
      expect(theirs.lines.get('Workers')).to.equal('ok 1 alive');
      expect(theirs.code).to.equal(0);
      // npm start brings workers of its own, whatever is wrong with these.
      await redis.set(`${keys.cutOff}:${own}`, '');
      await alive([own]);
      expect((await doctor(start)).lines.get('Workers')).to.equal(
        'but 1 alive, of which 1 cannot use Postgres: see their logs',
      );
      await redis.set(keys.refusal, 'No space left on device');
      await alive([own]);
      expect((await doctor(start)).lines.get('Workers')).to.equal(
        'but 1 alive, and Postgres refuses what they write: No space left on device. See its log.',
      );
      await alive([own, 'another']);
      expect((await doctor(start)).lines.get('Workers')).to.match(/^NO 2 alive, writing to another database, /);
    } finally {
      redis.disconnect();
      await database.destroy();
      await service.stop();
      await folder.remove();
    }
  });

  it('of a port: that it is taken, and of 0, which asks for any, nothing to mend', async () => {
    const folder = await temporaryFolder();
    const said = async (port: number) => {
      const start = { DATA_DIR: `${folder.path}/data`, HOME: process.env.HOME };
      return (await doctor({ ...start, PORT: String(port) })).lines.get('Port');
    };
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const { port } = squatter.address() as AddressInfo;
    expect(await said(port)).to.equal(
      `but ${port} is taken, or closed to this user; npm start takes another by itself`,
    );
    squatter.close();
    expect(await said(0)).to.equal('ok 0: any that is free');
    await folder.remove();
  });

  for (const [version, said] of [
    ['18.20.8', /^NO v\S+ is too old: 20\.19 or newer is needed\.$/],
    ['20.18.9', /^NO v\S+ is too old: 20\.19 or newer is needed\.$/],
    ['20.19.0', /^ok /],
  ] as const) {
    it(`of a Node ${version}`, async () => {
      // Told to its process: there is none of this version here.
      const versions = `Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;
      const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(versions)}`;
      const { lines } = await doctor({ ...away, NODE_OPTIONS });
      expect(lines.get('Node')).to.match(said);
    });
  }

  it('of packages that are not installed: which, and what to run', async () => {
    const folder = await temporaryFolder();
    const root = new URL('../../../', import.meta.url);
    await cp(new URL('dist', root), join(folder.path, 'dist'), { recursive: true });
    await symlink(fileURLToPath(new URL('node_modules', root)), join(folder.path, 'node_modules'));
    const dependencies = { pg: '*', 'not-installed': '*', '@nor/this': '*' };
    await writeFile(join(folder.path, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
    const { code, lines } = await doctor(away, [], join(folder.path, 'dist/shared/standalone/doctor.js'));
    await folder.remove();
    expect(lines.get('Packages')).to.equal('NO Missing: not-installed, @nor/this. Run: npm ci');
    expect(code).to.equal(1);
  });

  it('a reader that went away before the end, as of "| head", gets no stack trace', async () => {
    const child = startDoctor(away);
    child.stdout.destroy();
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, complaint }).to.deep.equal({ code: 1, complaint: '' });
  });
});

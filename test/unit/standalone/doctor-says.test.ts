import { once } from 'node:events';
import { expect } from 'chai';
import { connectForTest } from '../../support/database/database.js';
import { createTestDatabase } from '../../support/processes/servers.js';
import { doctor, startDoctor } from './run-doctor.js';

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
      await database.raw(`REVOKE CONNECT ON DATABASE ${asRole.pathname.slice(1)} FROM PUBLIC`);
      const { lines } = await doctor(env);
      expect(lines.get('Postgres')).to.match(
        / refuses: permission denied for database .* \(GRANT CONNECT ON DATABASE /,
      );
    } finally {
      await database.raw(`DROP ROLE ${role}`);
      await database.destroy();
      await own.drop();
    }
  });

  it('a reader that went away before the end, as of "| head", gets no stack trace', async () => {
    const away = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
    const child = startDoctor(away);
    child.stdout.destroy();
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, complaint }).to.deep.equal({ code: 1, complaint: '' });
  });
});

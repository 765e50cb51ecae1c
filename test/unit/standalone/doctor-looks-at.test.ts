import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { keys } from '../../../shared/queue/names.js';
import { startTestRedis } from '../../support/processes/servers.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { doctor } from './run-doctor.js';

/** A beat that says more counts for nothing (`beatAheadMsMax`). */
const listedMs = 50_000;

const away = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };

describe('what npm run doctor looks at', () => {
  it('in production with both servers given is what the API and the worker need, nothing of npm start', async () => {
    const { lines } = await doctor({ ...away, NODE_ENV: 'production' });
    const looked = ['Node', 'Packages', 'Postgres', 'Schema', 'Limits', 'Redis', 'Workers'];
    expect([...lines.keys()]).to.deep.equal(looked);
  });

  it('is the default folder where DATA_DIR is empty, as for npm start', async () => {
    const { lines } = await doctor({ DATA_DIR: '', HOME: process.env.HOME });
    expect(lines.get('Data folder')).to.contain(resolve('.data'));
  });

  it('is whether the data folder is one: a file is a NO', async () => {
    const folder = await temporaryFolder();
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    const { code, lines } = await doctor({ DATA_DIR: file, HOME: process.env.HOME });
    await folder.remove();
    expect(lines.get('Data folder')).to.contain(`NO The data folder ${file} cannot be used: `);
    expect(code).to.equal(1);
  });

  it('is not the database of the workers while Postgres is away: they are alive, and more cannot be told', async () => {
    const server = await startTestRedis();
    const redis = new Redis(server.url);
    try {
      await redis.zadd(keys.workers, Date.now() + listedMs, 'alive');
      await redis.zadd(keys.databases, Date.now() + listedMs, 'unknown');
      const { lines } = await doctor({ ...away, REDIS_URL: server.url });
      expect(lines.get('Postgres')).to.match(/ does not answer: /);
      expect(lines.get('Workers')).to.equal('ok 1 alive');
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });
});

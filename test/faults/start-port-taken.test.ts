import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../shared/standalone/ports.js';
import { useGivenServers } from '../support/processes/given-servers.js';
import { npmStart } from '../support/processes/npm-start.js';
import { until } from '../support/time/until.js';

describe('npm start whose port is taken while it starts, as by another at the same time', () => {
  const given = useGivenServers();

  /** Node's options, by which an API does not begin before the file is there. */
  async function apiWaitsFor(file: string): Promise<string> {
    const script = join(given.folder, 'wait.mjs');
    await writeFile(
      script,
      `import { existsSync } from 'node:fs';
       if (process.argv[1]?.endsWith('/api/main.js'))
         while (!existsSync('${file}')) await new Promise((resolve) => setTimeout(resolve, 20));`,
    );
    return `--import=${script}`;
  }

  it('serves on another port, and says so', async () => {
    const isTaken = join(given.folder, 'taken');
    const port = await freePort();
    const squatter = createServer();
    const started = npmStart(given.folder, {
      DATABASE_URL: given.databaseUrl,
      REDIS_URL: given.redisUrl,
      PORT: String(port),
      NODE_OPTIONS: await apiWaitsFor(isTaken),
    });
    try {
      const isRun = () => existsSync(join(given.folder, 'logs', 'api.log'));
      await until(isRun, { deadlineMs: 30_000, what: () => `the API; it said:\n${started.output()}` });
      await new Promise<void>((resolve) => squatter.listen(port, '127.0.0.1', resolve));
      await writeFile(isTaken, '');
      const { baseUrl } = await started.ready();
      expect(new URL(baseUrl).port).not.to.equal(String(port));
      expect(started.output()).to.include(`Port ${port} was taken meanwhile: ${new URL(baseUrl).port} it is`);
    } finally {
      started.kill('SIGTERM');
      await started.exited;
      squatter.close();
    }
  });
});

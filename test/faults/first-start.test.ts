import { existsSync, statSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { curlLines } from '../../shared/standalone/demo-file.js';
import { isAlive } from '../../shared/standalone/processes.js';
import { countCases } from '../support/long-run/count-cases.js';
import { closeConnections } from '../support/http/http.js';
import {
  adjust,
  levelOf,
  newestPidIn,
  processesOf,
  stopWithChangesInHand,
} from '../support/processes/npm-start-demo.js';
import { refusal } from '../support/processes/npm-start-refusal.js';
import type { Refusal } from '../support/processes/npm-start-refusal.js';
import { npmStart, npmStartBehindShell } from '../support/processes/npm-start.js';
import type { Started } from '../support/processes/npm-start.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/time/until.js';

describe('T19: a first start that cannot work says what to do, in time', () => {
  countCases('T19', 'refusals');
  let folder: { path: string; remove(): Promise<void> };
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => folder.remove());

  // It takes eight seconds, in which the others run.
  let hanging: Promise<Refusal>;
  before(() => {
    hanging = startWhoseDownloadHangs();
    hanging.catch(() => undefined);
  });
  after(() => hanging.catch(() => undefined));

  it('in production, with and without servers of one’s own, since it would fill them with demo shops', async () => {
    const away = { DATABASE_URL: 'postgres://127.0.0.1:1/none', REDIS_URL: 'redis://127.0.0.1:1' };
    for (const servers of [{}, away]) {
      const env = { NODE_ENV: 'production', ...servers };
      const { code, output } = await refusal(npmStart(join(folder.path, 'data'), env));
      expect(code).to.equal(78);
      expect(output).to.match(/production.*npm run migrate, npm run api, npm run worker/s);
    }
    expect(existsSync(join(folder.path, 'data'))).to.equal(false);
  });

  it('on a variable that makes no sense', async () => {
    const { code, output } = await refusal(npmStart(join(folder.path, 'data'), { PORT: '80x' }));
    expect(code).to.equal(78);
    expect(output).to.match(/PORT is "80x"/);
  });

  it('on a data folder that cannot be made', async () => {
    await writeFile(join(folder.path, 'file'), '');
    const { code, output } = await refusal(npmStart(join(folder.path, 'file', 'data')));
    expect(code).to.equal(78);
    expect(output).to.match(/cannot be used.*Set DATA_DIR/s);
  });

  if (process.getuid?.() !== 0) {
    it('on a data folder that may only be read', async () => {
      await mkdir(join(folder.path, 'data'), { mode: 0o555 });
      const { code, output } = await refusal(npmStart(join(folder.path, 'data')));
      expect(code).to.equal(78);
      expect(output).to.match(/cannot be used.*Set DATA_DIR/s);
    });
  }

  it('without any Redis, and leaves no Postgres behind', async () => {
    const env = { PATH: await binaries(folder.path, {}) };
    const { code, output } = await refusal(npmStart(join(folder.path, 'data'), env));
    expect(code).to.equal(78);
    expect(output).to.match(/No redis-server.*apt-get install redis-server.*REDIS_URL/s);
    expect(existsSync(join(folder.path, 'data', 'postgres', 'cluster', 'postmaster.pid'))).to.equal(false);
  });

  it('when the Redis it was given does not answer', async () => {
    const { code, output } = await refusal(npmStart(join(folder.path, 'data'), { REDIS_URL: 'redis://127.0.0.1:1' }));
    expect(code).to.equal(78);
    expect(output).to.match(/REDIS_URL does not answer/);
  });

  it('when the Postgres it was given does not answer', async () => {
    const env = { DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:1/none' };
    const { code, output } = await refusal(npmStart(join(folder.path, 'data'), env));
    expect(code).to.equal(78);
    expect(output).to.match(/DATABASE_URL does not answer: .*ECONNREFUSED.*Start it, or mend DATABASE_URL\./s);
  });

  it('when the download of a Redis hangs', async () => {
    const { code, output } = await hanging;
    expect(code).to.equal(78);
    expect(output).to.match(/could not download.*REDIS_URL/s);
  });

  async function startWhoseDownloadHangs(): Promise<Refusal> {
    const own = await temporaryFolder();
    try {
      const path = await binaries(own.path, { 'apt-get': '/bin/sleep 300', 'dpkg-deb': 'exit 1' });
      const env = { PATH: path, XDG_CACHE_HOME: join(own.path, 'cache') };
      return await refusal(npmStart(join(own.path, 'data'), env));
    } finally {
      await own.remove();
    }
  }

  /** A PATH of these programs alone, and `id`, which tells whom Postgres may run as. */
  async function binaries(within: string, bodies: Record<string, string>): Promise<string> {
    const bin = join(within, 'bin');
    await mkdir(bin);
    const places = (process.env.PATH ?? '').split(delimiter).map((place) => join(place, 'id'));
    await symlink(places.find(existsSync) ?? '/usr/bin/id', join(bin, 'id'));
    for (const [name, body] of Object.entries(bodies)) {
      await writeFile(join(bin, name), `#!/bin/sh\n${body}\n`);
      await chmod(join(bin, name), 0o755);
    }
    return bin;
  }
});

describe('T19: npm start', () => {
  countCases('T19', 'starts');
  let folder: { path: string; remove(): Promise<void> };
  let dataDir: string;
  let running: Started;

  before(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder.path, 'data');
  });

  after(() => folder.remove());

  const end = async () => {
    running.kill('SIGTERM');
    await running.exited;
  };

  describe('whose port is busy', () => {
    let port: number;
    before(async () => {
      const squatter = createServer();
      await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
      ({ port } = squatter.address() as AddressInfo);
      // The addresses are for processes that run by themselves.
      running = npmStart(dataDir, { PORT: String(port), HOST: '0.0.0.0', ADMIN_HOST: '0.0.0.0' });
      await running.ready().finally(() => squatter.close());
    });
    after(end);

    it('serves on another port, and answers what it prints', async () => {
      const demo = await running.ready();
      expect(new URL(demo.baseUrl).port).not.to.equal(String(port));
      expect(await adjust(demo)).to.equal(200);
      await until(() => running.output().includes('Ctrl-C stops all'), { deadlineMs: 5_000, what: 'the last line' });
      for (const line of [
        `Port ${String(port)} is taken, or closed to this user: ${new URL(demo.baseUrl).port} it is`,
        `Ready: ${demo.baseUrl}   reference: ${demo.docsUrl}`,
        `${demo.adminUrl}/queues (password: ${demo.adminToken})`,
        `Keys and ids: ${join(dataDir, 'demo.json')}`,
        ...Object.values(curlLines(demo)),
      ])
        expect(running.output()).to.include(line);
    });

    it('is for this machine alone, whatever the environment has for HOST and ADMIN_HOST', async () => {
      const { baseUrl, metricsUrls } = await running.ready();
      for (const url of [baseUrl, ...metricsUrls]) {
        expect((await fetch(url)).status, url).to.be.below(500);
        const elsewhere = url.replace('127.0.0.1', '127.0.0.2');
        const reached = await fetch(elsewhere).then(
          () => elsewhere,
          () => 'nobody',
        );
        expect(reached).to.equal('nobody');
      }
    });

    it('has the metrics of every process, and the page of the queues, where demo.json says', async () => {
      const { adminUrl, adminToken, metricsUrls } = await running.ready();
      const metrics = await Promise.all(metricsUrls.map(async (url) => (await fetch(url)).text()));
      expect(metrics.map((text) => /^raw_materials_limiter_decisions_total/m.test(text))).to.deep.equal([
        true,
        false,
        false,
      ]);
      expect(metrics.map((text) => /^raw_materials_rows_total/m.test(text))).to.deep.equal([false, true, true]);
      const page = async (token: string) =>
        (await fetch(`${adminUrl}/queues`, { headers: { authorization: `Bearer ${token}` } })).status;
      expect([await page(adminToken), await page('another')]).to.deep.equal([200, 401]);
    });

    it('starts an API again that was killed, on the same port', async () => {
      const demo = await running.ready();
      const api = await newestPidIn(join(dataDir, 'logs', 'api.log'));
      closeConnections(demo.baseUrl);
      process.kill(api, 'SIGKILL');
      const answers = () => levelOf(demo).then(Boolean, () => false);
      await until(async () => !isAlive(api) && (await answers()), { deadlineMs: 15_000, what: 'the next API' });
    });

    it('starts its Postgres and its Redis again, and on SIGTERM leaves no process, of those neither', async () => {
      const demo = await running.ready();
      const level = await levelOf(demo);
      const { servers } = await processesOf(dataDir);
      for (const server of servers) process.kill(server, 'SIGKILL');
      const works = async () => (await adjust(demo)) === 200;
      await until(works, { deadlineMs: 60_000, what: () => `a change; npm start said:\n${running.output()}` });
      expect(await levelOf(demo)).to.be.at.least(level + 5);
      const { servers: next } = await processesOf(dataDir);
      expect(next.map((pid, index) => isAlive(pid) && pid !== servers[index])).to.deep.equal([true, true]);
      await stopsClean(running, 'SIGTERM');
    });
  });

  describe('again and again', () => {
    afterEach(end);

    it('keeps data and keys, and says that it is running to a second one on the same folder', async () => {
      running = npmStart(dataDir);
      const demo = await running.ready();
      const level = await levelOf(demo);
      const second = await refusal(npmStart(dataDir));
      expect(second.code).to.equal(75);
      expect(second.output)
        .to.include(`process ${String(running.pid)}`)
        .and.to.include(demo.baseUrl);
      expect(await adjust(demo)).to.equal(200);
      expect(await levelOf(demo)).to.equal(level + 5);
      // Its API ends before its workers, which are there for what it still has in hand.
      expect(await stopWithChangesInHand(running, dataDir, 5)).to.deep.equal([200, 200, 200, 200, 200]);
      expect(await running.exited).to.deep.equal({ code: 0, signal: null });

      running = npmStart(dataDir);
      const again = await running.ready();
      expect(again.readKey).to.equal(demo.readKey);
      expect(await levelOf(again)).to.equal(level + 5 + 5 * 5);
      await stopsClean(running, 'SIGTERM');
    });

    it('takes over what a kill −9 left: the servers go on, the API and the workers have ended by themselves', async () => {
      running = npmStart(dataDir);
      const demo = await running.ready();
      const level = await levelOf(demo);
      const { servers, service } = await processesOf(dataDir);
      closeConnections(demo.baseUrl);
      running.kill('SIGKILL');
      await running.exited;
      await until(() => !service.some(isAlive), { deadlineMs: 30_000, what: 'the API and the workers to end' });
      expect(servers.every(isAlive)).to.equal(true);

      const demoFile = join(dataDir, 'demo.json');
      const writtenMs = () => statSync(demoFile, { throwIfNoEntry: false })?.mtimeMs;
      const staleMs = writtenMs();
      expect(staleMs).to.be.a('number');
      running = npmStart(dataDir);
      // It may be there again before this process looks.
      await until(() => writtenMs() !== staleMs, { deadlineMs: 10_000, what: 'the stale demo.json to go' });
      const again = await running.ready();
      expect(running.output())
        .to.match(/Postgres: taking over/)
        .and.to.match(/Redis: taking over/);
      expect(await levelOf(again)).to.equal(level);
      await stopsClean(running, 'SIGTERM');
      expect(servers.some(isAlive)).to.equal(false);
    });

    it('ends with npm, which hands a SIGTERM on to nobody but its shell', async () => {
      running = npmStartBehindShell(dataDir);
      const demo = await running.ready();
      const { servers, service } = await processesOf(dataDir);
      closeConnections(demo.baseUrl);
      running.kill('SIGTERM');
      await running.exited;
      await until(() => !existsSync(join(dataDir, 'start.lock')), { deadlineMs: 30_000, what: 'the end of all' });
      expect([...servers, ...service].filter(isAlive)).to.deep.equal([]);
    });
  });

  async function stopsClean(started: Started, signal: NodeJS.Signals): Promise<void> {
    const demo = await started.ready();
    const { servers, service } = await processesOf(dataDir);
    expect([...servers, ...service].every(isAlive)).to.equal(true);
    closeConnections(demo.baseUrl);
    started.kill(signal);
    expect(await started.exited).to.deep.equal({ code: 0, signal: null });
    expect([...servers, ...service].filter(isAlive)).to.deep.equal([]);
    expect(existsSync(join(dataDir, 'demo.json'))).to.equal(false);
    expect(existsSync(join(dataDir, 'start.lock'))).to.equal(false);
  }
});

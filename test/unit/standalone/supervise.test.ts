import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { isAlive } from '../../../shared/standalone/processes.js';
import { restartPauseMs } from '../../../shared/standalone/restart-pause.js';
import { supervise } from '../../../shared/standalone/supervise.js';
import type { Supervised } from '../../../shared/standalone/supervise.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';

const serves = `process.send({ type: 'ready', port: 4711 });`;
const endsWithParent = `process.once('disconnect', () => process.exit(0));`;
const endsOnSigterm = `process.once('SIGTERM', () => process.exit(0));`;
const staysOpen = `setInterval(() => {}, 1000);`;

describe('the supervisor of npm start', () => {
  let folder: { path: string; remove(): Promise<void> };
  const started: Supervised[] = [];
  let printed: string[] = [];

  before(async () => (folder = await temporaryFolder()));
  afterEach(async () => {
    for (const supervised of started.splice(0)) await supervised.stop();
    printed = [];
  });
  after(() => folder.remove());

  async function run(name: string, ...lines: string[]): Promise<Supervised> {
    const script = join(folder.path, `${name}.mjs`);
    await writeFile(script, lines.join('\n'));
    const logPath = join(folder.path, `${name}.log`);
    const supervised = supervise({ name, script, env: process.env, logPath, print: (line) => printed.push(line) });
    started.push(supervised);
    return supervised;
  }

  it('passes on the port a process reports, and stops it with SIGTERM', async () => {
    const api = await run('plain', `process.send({ type: 'other', port: 1 });`, serves, endsOnSigterm, staysOpen);
    expect(await api.ready).to.deep.equal({ port: 4711 });
    const pid = api.pid() ?? 0;
    await api.stop();
    expect(isAlive(pid)).to.equal(false);
    expect(printed).to.deep.equal([]);
  });

  it('starts a process again that ends by itself, and not one that it stopped', async () => {
    const api = await run('dies', serves, endsOnSigterm, staysOpen);
    await api.ready;
    // More often than one is tried that has never served.
    for (const pause of [250, 500, 1_000]) {
      const before = api.pid() ?? 0;
      process.kill(before, 'SIGKILL');
      const next = await until(() => (api.pid() !== before ? api.pid() : undefined), {
        deadlineMs: 10_000,
        what: 'the next one',
      });
      expect(isAlive(next)).to.equal(true);
      expect(printed.at(-1)).to.equal(`ended by itself (SIGKILL); starting it again in ${pause} ms`);
    }
    await api.stop();
    expect(api.pid()).to.equal(undefined);
  });

  it('starts no process that it stopped in the pause before the next start', async () => {
    const api = await run('paused', serves, endsOnSigterm, staysOpen);
    await api.ready;
    process.kill(api.pid() ?? 0, 'SIGKILL');
    await until(() => printed.length > 0, { deadlineMs: 5_000, what: 'its end' });
    await api.stop();
    // Longer than the pause.
    await delay(2 * restartPauseMs(1));
    expect(api.pid()).to.equal(undefined);
  });

  it('starts no process again that it killed', async () => {
    const api = await run('killed', serves, endsOnSigterm, staysOpen);
    await api.ready;
    api.kill();
    await until(() => api.pid() === undefined, { deadlineMs: 5_000, what: 'its end' });
    expect(printed).to.deep.equal([]);
  });

  it('is not waited for any more where it is stopped before it serves', async () => {
    const api = await run('late', endsOnSigterm, staysOpen);
    await api.stop();
    const error = await api.ready.catch((reason: unknown) => (reason as Error).message);
    expect(error).to.equal('late was stopped before it served');
  });

  it('gives up at once on one that its configuration keeps from starting, with what it said', async () => {
    const api = await run('config', `console.error('PORT is wrong'); process.exitCode = 78;`);
    const error = await api.ready.catch((reason: unknown) => (reason as Error).message);
    expect(error).to.match(/does not start \(code 78\).*PORT is wrong/s);
  });

  it('repeats of one that does not start the last 20 lines, however many it said', async () => {
    const says = `for (let line = 1; line <= 30; line += 1) console.log('line', line); process.exitCode = 78;`;
    const api = await run('talks', says);
    const error = await api.ready.catch((reason: unknown) => (reason as Error).message);
    const last = Array.from({ length: 20 }, (_, index) => `line ${index + 11}`);
    expect(error).to.equal(['talks does not start (code 78). It said:', ...last].join('\n'));
  });

  it('gives up on one that dies three times before it serves', async () => {
    const api = await run('crashes', `throw new Error('no good');`);
    const error = await api.ready.catch((reason: unknown) => (reason as Error).message);
    expect(error).to.match(/does not start \(code 1\).*no good/s);
    expect(printed.filter((line) => line.includes('ended by itself'))).to.have.length(2);
  });

  it('writes every line to the log, and shows a person only warnings and what is not JSON', async () => {
    const info = '{"level":30,"msg":"request"}';
    const warning = '{"level":40,"msg":"slow"}';
    const script = [
      `console.log(${JSON.stringify([info, warning, 'plain'].join('\n'))});`,
      serves,
      endsOnSigterm,
      staysOpen,
    ];
    const api = await run('logs', ...script);
    await api.ready;
    await until(() => printed.length === 2, { deadlineMs: 5_000, what: 'two lines' });
    expect(printed).to.deep.equal([warning, 'plain']);
    expect(await readFile(join(folder.path, 'logs.log'), 'utf8')).to.equal(`${info}\n${warning}\nplain\n`);
  });

  // Linux has a device that is always full.
  if (existsSync('/dev/full')) {
    it('goes on where the log cannot be written, and shows a person the same', async () => {
      await symlink('/dev/full', join(folder.path, 'full.log'));
      const api = await run('full', `console.log('plain');`, serves, endsOnSigterm, staysOpen);
      await api.ready;
      await until(() => printed.length === 1, { deadlineMs: 5_000, what: 'a line' });
      expect(printed).to.deep.equal(['plain']);
      expect(isAlive(api.pid() ?? 0)).to.equal(true);
    });
  }

  it('leaves no process behind when it is itself killed with −9', async () => {
    const script = join(folder.path, 'child.mjs');
    await writeFile(script, [`console.log('here');`, serves, endsWithParent, staysOpen].join('\n'));
    const url = new URL('../../../shared/standalone/supervise.ts', import.meta.url).href;
    const options = { name: 'child', script, logPath: join(folder.path, 'child.log') };
    const code = `
      const { supervise } = await import(${JSON.stringify(url)});
      const child = supervise({ ...${JSON.stringify(options)}, env: process.env, print: () => {} });
      await child.ready;
      console.log(child.pid());`;
    const args = ['--import', 'tsx', '--input-type=module', '-e', code];
    const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(parent, 'exit');
    const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
    const pid = Number(line);
    expect(isAlive(pid)).to.equal(true);
    parent.kill('SIGKILL');
    await exited;
    await until(() => !isAlive(pid), { deadlineMs: 5_000, what: 'the child to end' });
  });
});

describe('the pause before something is started again', () => {
  it('doubles from 0.25 s to 5 s', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 1_000].map(restartPauseMs)).to.deep.equal([
      ...[250, 500, 1_000, 2_000, 4_000],
      ...[5_000, 5_000, 5_000],
    ]);
  });
});

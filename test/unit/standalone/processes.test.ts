import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  commandLine,
  endProcess,
  isAlive,
  runCommand,
  signalLater,
  startOf,
} from '../../../shared/standalone/processes.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';

const sleeps = 'setInterval(() => {}, 1000); console.log("here")';

describe('processes', () => {
  it('are told from a later one with the same number, and known by their words', async () => {
    const child = spawn(process.execPath, ['-e', sleeps], { stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    const pid = child.pid ?? 0;
    expect(startOf(pid)).to.be.a('string').and.not.equal('');
    expect(startOf(pid)).to.equal(startOf(pid));
    expect(commandLine(pid)).to.include('setInterval');
    child.kill('SIGKILL');
    await exited;
    expect(startOf(pid)).to.equal(undefined);
    expect(isAlive(pid)).to.equal(false);
  });

  // Only Linux tells of a process that it has ended.
  if (existsSync('/proc/self/stat')) {
    it('do not run any more once they have ended, though nobody reaps them', async () => {
      // The shell becomes a program that knows nothing of the child it got.
      const parent = spawn('/bin/sh', ['-c', '/bin/sleep 60 & echo $!; exec /bin/sleep 60'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const exited = once(parent, 'exit');
      const [text] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(text);
      // The shell itself would reap it.
      const isSleep = () => commandLine(parent.pid ?? 0).startsWith('/bin/sleep');
      await until(isSleep, { deadlineMs: 5_000, what: 'the shell to become another program' });
      process.kill(pid, 'SIGKILL');
      await until(() => !isAlive(pid), { deadlineMs: 5_000, what: 'its end' });
      // It is still to be found.
      expect(process.kill(pid, 0)).to.equal(true);
      parent.kill('SIGKILL');
      await exited;
    });
  }

  it('run also where their name looks like the state of one that has ended', async () => {
    const folder = await temporaryFolder();
    const program = join(folder.path, 'a) Z 1');
    await symlink(process.execPath, program);
    const child = spawn(program, ['-e', sleeps], { stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    expect(isAlive(child.pid ?? 0)).to.equal(true);
    child.kill('SIGKILL');
    await exited;
    await folder.remove();
  });

  it('are signalled later only where they are the ones that were meant', async () => {
    const child = spawn(process.execPath, ['-e', sleeps], { stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    const pid = child.pid ?? 0;
    const meant = signalLater(pid, 'SIGTERM');
    // As the number of one that has ended by then, which another got.
    const starts = ['before', 'after'];
    signalLater(pid, 'SIGKILL', () => starts.shift())();
    meant();
    expect((await exited)[1]).to.equal('SIGTERM');
    expect(meant).to.not.throw();
  });

  it('that ignore SIGTERM are ended all the same', async () => {
    const child = spawn(process.execPath, ['-e', `process.on('SIGTERM', () => {}); ${sleeps}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    const pid = child.pid ?? 0;
    const asked = await endProcess(pid, [{ name: 'SIGTERM', msMax: 100 }]).catch((error: unknown) => error);
    expect(asked).to.have.property('message', `Process ${pid} does not end (SIGTERM).`);
    await endProcess(pid, [
      { name: 'SIGTERM', msMax: 100 },
      { name: 'SIGKILL', msMax: 5_000 },
    ]);
    expect((await exited)[1]).to.equal('SIGKILL');
  });
});

describe('a command', () => {
  it('answers with its code and all of its output', async () => {
    const code = 'console.log("out"); console.error("err"); process.exitCode = 3';
    const result = await runCommand({ file: process.execPath, args: ['-e', code], msMax: 10_000 });
    expect(result.code).to.equal(3);
    expect(result.output).to.include('out').and.to.include('err');
  });

  it('that is not there is no exception', async () => {
    const result = await runCommand({ file: 'no-such-command', args: [], msMax: 1_000 });
    expect(result.code).to.equal(null);
    expect(result.output).to.include('ENOENT');
  });

  it('that hangs is ended in time, with the processes it started', async () => {
    const result = await runCommand({ file: '/bin/sh', args: ['-c', 'sleep 300 & echo $!; sleep 300'], msMax: 300 });
    expect(result.code).to.equal(null);
    expect(result.output).to.include('ended after 300 ms');
    const grandchild = Number.parseInt(result.output, 10);
    await until(() => !isAlive(grandchild), { deadlineMs: 5_000, what: 'what it started to end' });
  });

  it('is ended when the start it belongs to is given up', async () => {
    const abort = new AbortController();
    const result = runCommand({ file: '/bin/sh', args: ['-c', 'sleep 300'], msMax: 60_000, signal: abort.signal });
    abort.abort();
    expect(await result).to.deep.equal({ code: null, output: 'stopped' });
  });

  it('is ended at once when the start it belongs to was given up before', async () => {
    const command = { file: 'sleep', args: ['300'], msMax: 60_000, signal: AbortSignal.abort() };
    expect(await runCommand(command)).to.deep.equal({ code: null, output: 'stopped' });
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { keepServer } from '../../../shared/standalone/keep-server.js';
import type { KeptServer } from '../../../shared/standalone/keep-server.js';
import { failed } from '../../../shared/runtime/outcome.js';
import type { Outcome } from '../../../shared/runtime/outcome.js';
import { endProcess, isAlive } from '../../../shared/standalone/processes.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;
const port = 4711;

describe('an embedded server that is kept', () => {
  const ends: (() => Promise<void>)[] = [];
  let said: string[] = [];
  /** What the next starts come to; when there is none left, they succeed. */
  let planned: ((signal: AbortSignal) => Promise<Outcome<KeptServer>>)[] = [];
  let askedPorts: number[] = [];
  let running: KeptServer[] = [];

  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    expect(running.map(({ pid }) => pid).filter(isAlive)).to.deep.equal([]);
    [said, planned, askedPorts, running] = [[], [], [], []];
  });

  function launch(ownPort = port): KeptServer {
    const { pid = 0 } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const server = { pid, port: ownPort, stop: () => endProcess(pid, [{ name: 'SIGTERM', msMax: soonMsMax }]) };
    running.push(server);
    return server;
  }

  function keep(): () => Promise<void> {
    const end = keepServer(launch(), {
      name: 'Server',
      start: (asked, signal) => {
        askedPorts.push(asked);
        return planned.shift()?.(signal) ?? Promise.resolve({ ok: true, value: launch() });
      },
      say: (line) => said.push(line),
    });
    ends.push(end);
    return end;
  }

  const kill = () => process.kill(running.at(-1)?.pid ?? 0, 'SIGKILL');
  const untilSaid = (text: string) =>
    until(() => said.at(-1)?.includes(text), {
      deadlineMs: soonMsMax,
      what: () => `${text}; said: ${said.join('\n')}`,
    });

  it('is started again on its port as often as it ends by itself, and not where it was ended', async () => {
    const end = keep();
    for (const count of [1, 2]) {
      kill();
      await until(() => running.length > count, { deadlineMs: soonMsMax, what: 'the next one' });
      await untilSaid('serves again, on port 4711');
    }
    await end();
    expect(askedPorts).to.deep.equal([port, port]);
    expect(running).to.have.length(3);
  });

  it('is tried again until it starts, whatever keeps it from that, which is said once', async () => {
    planned = [
      () => Promise.resolve(failed('The disk is full.')),
      () => Promise.reject(new Error('ENOSPC')),
      () => Promise.resolve(failed('The disk is full.')),
    ];
    keep();
    kill();
    await untilSaid('serves again');
    expect(said).to.deep.equal([
      'Server: ended by itself; starting it again',
      'Server: The disk is full.\nServer: it is tried again until it starts',
      'Server: serves again, on port 4711',
    ]);
  });

  it('is none on another port: that one is ended, and its own tried again', async () => {
    planned = [() => Promise.resolve({ ok: true, value: launch(port + 1) })];
    keep();
    kill();
    await untilSaid('serves again, on port 4711');
    expect(running.map(({ pid }) => isAlive(pid))).to.deep.equal([false, false, true]);
  });

  it('is not started again where it is to end meanwhile', async () => {
    const end = keep();
    kill();
    await untilSaid('ended by itself');
    await end();
    expect(running).to.have.length(1);
  });

  it('is ended, too, where it starts again just as its end comes', async () => {
    planned = [(signal) => once(signal, 'abort').then(() => ({ ok: true, value: launch() }))];
    const end = keep();
    kill();
    await until(() => askedPorts.length === 1, { deadlineMs: soonMsMax, what: 'the next start' });
    await end();
    expect(running.map(({ pid }) => isAlive(pid))).to.deep.equal([false, false]);
  });

  it('says nothing of a start that its own end broke off', async () => {
    planned = [(signal) => once(signal, 'abort').then(() => failed('It was stopped.'))];
    const end = keep();
    kill();
    await until(() => askedPorts.length === 1, { deadlineMs: soonMsMax, what: 'the next start' });
    await end();
    expect(said).to.deep.equal(['Server: ended by itself; starting it again']);
  });
});

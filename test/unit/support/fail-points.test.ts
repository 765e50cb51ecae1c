import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { isAlive } from '../../../shared/standalone/processes.js';
import { failPointArguments } from '../../support/fail-points/fail-points.js';
import type { FailPointHit } from '../../support/fail-points/fail-points.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/time/until.js';

const source = `
export async function step() {
  // fail-point: mid-step
  return 'stepped';
}
function fold() {
  // fail-point: mid-fold!sync
  return 'folded';
}
// A sentence about a fail-point: mid-step is not one.
for (let pass = 1; pass <= 3; pass += 1) {
  try {
    process.send(await step());
    process.send(fold());
  } catch (error) {
    process.send(error.message);
  }
}
process.disconnect();
`;

describe('fail-points', () => {
  let folder: { path: string; remove(): Promise<void> };
  let script: string;

  before(async () => {
    folder = await temporaryFolder();
    await mkdir(join(folder.path, 'dist'));
    script = join(folder.path, 'dist', 'main.mjs');
    await writeFile(script, source);
  });
  after(() => folder.remove());

  function start(specification: string | undefined, file = script) {
    const child = spawn(process.execPath, [...failPointArguments(specification), file], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, FAIL_POINTS: specification },
    });
    const messages: unknown[] = [];
    let errors = '';
    child.on('message', (message) => messages.push(message));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    return { child, messages, closed, errors: () => errors };
  }

  const hit = (name: string, pass: number, fires: boolean): FailPointHit => ({ type: 'fail-point', name, pass, fires });

  it('are comments without a specification', async () => {
    const { messages, closed } = start(undefined);
    expect(await closed).to.deep.equal([0, null]);
    expect(messages).to.deep.equal(['stepped', 'folded', 'stepped', 'folded', 'stepped', 'folded']);
  });

  it('kill the process at the named pass, the hit being announced before', async () => {
    const { messages, closed } = start('mid-step=kill:2');
    expect(await closed).to.deep.equal([null, 'SIGKILL']);
    expect(messages).to.deep.equal([hit('mid-step', 1, false), 'stepped', 'folded', hit('mid-step', 2, true)]);
  });

  it('kill where nothing can be awaited, too', async () => {
    const { messages, closed } = start('mid-fold!sync=kill:1');
    expect(await closed).to.deep.equal([null, 'SIGKILL']);
    expect(messages).to.deep.equal(['stepped', hit('mid-fold!sync', 1, true)]);
  });

  it('throw at the named pass alone', async () => {
    const { messages, closed } = start('mid-step=throw:2');
    expect(await closed).to.deep.equal([0, null]);
    expect(messages.filter((message) => typeof message === 'string')).to.deep.equal([
      'stepped',
      'folded',
      'fail-point mid-step',
      'stepped',
      'folded',
    ]);
  });

  it('stop the process until it is continued', async () => {
    const { child, messages, closed } = start('mid-step=stop:1');
    await until(() => messages.length === 1, { deadlineMs: 5_000, what: 'the hit' });
    expect(messages).to.deep.equal([hit('mid-step', 1, true)]);
    expect(isAlive(child.pid ?? 0)).to.equal(true);
    // Sent again and again, because the first may come before the stop, which follows the announcement.
    const goesOn = () => {
      child.kill('SIGCONT');
      return messages.length > 1;
    };
    await until(goesOn, { deadlineMs: 5_000, what: 'it to go on' });
    expect(messages[1]).to.deep.equal({ type: 'gone-on', name: 'mid-step' });
    expect(await closed).to.deep.equal([0, null]);
  });

  it('delay every pass', async () => {
    const { messages, closed } = start('mid-step=delay:20,mid-fold!sync=delay:1');
    expect(await closed).to.deep.equal([0, null]);
    expect(messages.filter((message) => typeof message === 'object')).to.have.length(6);
  });

  it('are looked for under dist/ only', async () => {
    const elsewhere = join(folder.path, 'main.mjs');
    await writeFile(elsewhere, source);
    const { messages, closed } = start('mid-step=kill:1', elsewhere);
    expect(await closed).to.deep.equal([0, null]);
    expect(messages).to.have.length(6);
  });

  for (const specification of ['mid-step', 'mid-step=kill', 'mid-step=kill:0', 'mid-step=explode:1']) {
    it(`refuse the misspelt ${specification}, which would arm nothing`, async () => {
      const { closed, errors } = start(specification);
      const [code] = await closed;
      expect(code).to.equal(1);
      expect(errors()).to.include('FAIL_POINTS');
    });
  }
});

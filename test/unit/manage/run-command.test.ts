import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { OpenCommit } from '../../../shared/database/settled-transaction.js';
import { createRunCommand } from '../../../shared/manage/run-command.js';
import type { CommandProcess } from '../../../shared/manage/run-command.js';

describe('a command of npm run manage', () => {
  function open({ isTTY = false } = {}) {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const stderr = Object.assign(new PassThrough(), { isTTY });
    const process: CommandProcess = {
      ...{ stdin, stdout, stderr, env: {}, exitCode: undefined },
      on: () => undefined,
      exit: (code) => {
        throw new Error(`exit ${String(code)}`);
      },
    };
    const run = createRunCommand({
      // Nobody answers there, and nobody is asked.
      databaseUrl: 'postgres://u:p@127.0.0.1:1/x',
      dataFolder: '/nowhere',
      platformTokenKey: undefined,
      platformToken: undefined,
      allowLoopback: false,
      process,
    });
    return { process, stdout, stderr, run };
  }

  it('has a terminal to draw on where stderr is one', async () => {
    for (const isTTY of [true, false]) {
      const { stderr, stdout, run } = open({ isTTY });
      await run({}, ({ terminal }) => {
        return Promise.resolve({ ok: true, value: { data: {}, text: terminal === stderr ? 'drawn' : 'not drawn' } });
      });
      expect(String(stdout.read())).to.equal(isTTY ? 'drawn\n' : 'not drawn\n');
    }
  });

  it('whose commit nobody can be asked about says that it may be done', async () => {
    const { process, stderr, run } = open();
    await run({}, () => Promise.reject(new OpenCommit(new Error('ECONNRESET'))));
    expect(process.exitCode).to.equal(1);
    expect(String(stderr.read())).to.equal(
      'The database went away while the change was being committed: it may be done. Look before you do it again.\n',
    );
  });
});

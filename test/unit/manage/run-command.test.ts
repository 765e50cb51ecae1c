import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { OpenCommit } from '../../../shared/database/decided-transaction.js';
import { createRunCommand } from '../../../shared/manage/run-command.js';
import type { CommandProcess } from '../../../shared/manage/run-command.js';

describe('a command of npm run manage', () => {
  it('whose commit nobody can be asked about says that it may be done', async () => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
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
    await run({}, () => Promise.reject(new OpenCommit(new Error('ECONNRESET'))));
    expect(process.exitCode).to.equal(1);
    expect(String(stderr.read())).to.equal(
      'The database went away while the change was being committed: it may be done. Look before you do it again.\n',
    );
  });
});

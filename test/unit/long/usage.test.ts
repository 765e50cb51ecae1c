import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const command = fileURLToPath(new URL('../../long/main.ts', import.meta.url));

describe('npm run test:long', () => {
  it('refuses what would pass without a single trial, and a wrong command line is no failed test', () => {
    for (const [args, told] of [
      [['--size', '0'], 'from 1'],
      [['--minutes', '0'], 'from 1'],
      [['T99'], 'There is no T99'],
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', command, '--list', ...args], {
        encoding: 'utf8',
      });
      expect(stderr, args.join(' ')).to.include(told);
      expect(status, args.join(' ')).to.equal(64);
    }
  });
});

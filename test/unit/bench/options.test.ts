import { join } from 'node:path';
import { expect } from 'chai';
import { readListOptions } from '../../bench/list/options.js';
import { readOptions } from '../../bench/options.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const now = new Date('2026-11-22T12:00:00.000Z');

describe('the options of the benchmarks', () => {
  it('say which one cannot be meant, before anything is started', () => {
    const wrong = [
      ['--rounds', '0'],
      ['--rounds', '1.5'],
      ['--rounds', '1,2'],
      ['--rounds', 'abc'],
      ['--json', '/nowhere/at/all.json'],
      ['--json', '/'],
      ['--nope'],
    ];
    for (const args of wrong) {
      expect(() => readListOptions(args), `list ${args.join(' ')}`).to.throw(args[0] ?? '');
      expect(() => readOptions(args, now), args.join(' ')).to.throw(args[0] ?? '');
    }
    const ofOne = [
      ['--scenario', 'NOPE'],
      ['--parts', 'nope'],
      ['--designs', 'x'],
      ['--present', '1,2'],
      ['--html', '/nowhere/at/all.html'],
      // Nothing would be measured, or only a stack trace say so once all is started.
      ['--designs', 'd', '--parts', 'fairness'],
      ['--designs', 'f', '--parts', 'open'],
      ['--designs', 'd', '--scenario', 'MIXED'],
    ];
    for (const args of ofOne) expect(() => readOptions(args, now), args.join(' ')).to.throw(args[0] ?? '');
    for (const args of [
      ['--small', '0'],
      ['--large', ''],
    ])
      expect(() => readListOptions(args), args.join(' ')).to.throw(args[0] ?? '');
  });

  it('are what was typed, and else the defaults; the page stands beside the figures', async () => {
    const folder = await temporaryFolder();
    try {
      const jsonPath = join(folder.path, 'figures.json');
      expect(readListOptions(['--rounds', '3', '--json', jsonPath])).to.deep.equal({
        small: 10_000,
        large: 1_000_000,
        rounds: 3,
        jsonPath,
      });
      const options = readOptions(['--scenario', 'hot,spread,HOT', '--json', jsonPath], now);
      expect(options).to.deep.include({
        scenarios: ['HOT', 'SPREAD'],
        parts: ['rounds'],
        rounds: 3,
        jsonPath,
        htmlPath: join(folder.path, 'figures.html'),
      });
    } finally {
      await folder.remove();
    }
  });
});

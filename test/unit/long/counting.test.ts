import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readTallyFile } from '../../long/tally-file.js';
import { counting } from '../../support/long-run/counting.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

describe('what a long test tells', () => {
  let folder: { path: string; remove(): Promise<void> };
  let path: string;
  let outer: string | undefined;
  beforeEach(async () => {
    folder = await temporaryFolder();
    path = join(folder.path, 'tally');
    outer = process.env.TEST_TALLY;
    process.env.TEST_TALLY = path;
  });
  afterEach(async () => {
    if (outer === undefined) delete process.env.TEST_TALLY;
    else process.env.TEST_TALLY = outer;
    await folder.remove();
  });

  it('is how far it is while it runs, and its tally at the end', async () => {
    await counting({ test: 'T0', unit: 'turns', size: 3 }, async (count) => {
      while (count.left() > 0) count.add(2);
      count.judged();
      const progress = { test: 'T0', unit: 'turns', made: 4, judged: 4, of: 3 };
      expect(readTallyFile(path)).to.deep.equal({ tallies: [], progress });
      return Promise.resolve([{ name: 'time (ms)', value: 5, most: 6 }]);
    });
    const tally = { test: 'T0', unit: 'turns', count: 4, failures: 0, figures: { 'time (ms)': '5 of 6' } };
    expect(readTallyFile(path)).to.deep.equal({ tallies: [tally], progress: undefined });
  });

  it('is a failure where something was wrong, which also fails the test', async () => {
    const fault = new Error('wrong');
    const run = counting({ test: 'T0', unit: 'turns', size: 3 }, (count) => {
      count.add();
      return Promise.reject(fault);
    });
    expect(await run.catch((error: unknown) => error)).to.equal(fault);
    expect(readTallyFile(path).tallies).to.deep.equal([{ test: 'T0', unit: 'turns', count: 1, failures: 1 }]);
  });

  it('is read up to the last whole line', async () => {
    await counting({ test: 'T0', unit: 'turns', size: 0 }, () => Promise.resolve([]));
    const { tallies } = readTallyFile(path);
    await appendFile(path, '{"test":"T0","un');
    expect(readTallyFile(path).tallies).to.deep.equal(tallies);
    expect(readTallyFile(join(folder.path, 'none'))).to.deep.equal({ tallies: [], progress: undefined });
  });
});

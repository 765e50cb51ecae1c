import { expect } from 'chai';
import { closingTable, ruleOfThree } from '../../long/closing-table.js';
import { judgeMsMax, msMaxOf } from '../../long/run-test.js';
import type { RunResult } from '../../long/run-test.js';

const test = { name: 'T3', parts: [] };
const passed: RunResult = { test, tallies: [], progress: undefined, verdict: 'passed', durationMs: 61_400 };
const tally = { test: 'T3', unit: 'kills', count: 300, failures: 0 };
const progress = { test: 'T3', unit: 'kills', made: 25, judged: 20, of: 300 };

/** The cells of the lines below the head. */
function linesOf(results: RunResult[]): string[][] {
  return closingTable(results)
    .split('\n')
    .slice(1)
    .map((line) => line.split(/ {2,}/));
}

describe('the bound of a rate of failures', () => {
  for (const [count, failures, bound] of [
    [300, 0, '≤ 0.01'],
    [1_000, 0, '≤ 0.003'],
    [10_000_000, 0, '≤ 3e-7'],
    [300, 1, '–'],
    [0, 0, '–'],
  ] as const) {
    it(`with ${String(failures)} in ${String(count)} is ${bound}`, () => {
      expect(ruleOfThree(count, failures)).to.equal(bound);
    });
  }
});

describe('the time that a long test may take', () => {
  it('is that of --minutes, and of judging, for each thing that it counts', () => {
    const minutesMs = 300_000;
    expect(msMaxOf({ tallies: [] }, minutesMs)).to.equal(minutesMs + judgeMsMax);
    expect(msMaxOf({ tallies: [tally] }, minutesMs)).to.equal(2 * (minutesMs + judgeMsMax));
    expect(msMaxOf({ tallies: [] }, Infinity)).to.equal(Infinity);
  });
});

describe('the closing table of a long run', () => {
  it('has a line for each thing that was counted, with its figures', () => {
    const tallies = [
      { ...tally, figures: { 'recovery p99 (ms)': '4384 of 6000' } },
      { ...tally, failures: 2 },
    ];
    expect(linesOf([{ ...passed, tallies }])).to.deep.equal([
      ['T3', 'kills', '300', '0', '≤ 0.01', '1 min 1 s', 'passed', 'recovery p99 (ms) 4384 of 6000'],
      ['T3', 'kills', '300', '2', '–', '1 min 1 s', 'passed'],
    ]);
  });

  it('counts of what was cut off only what had been judged', () => {
    expect(linesOf([{ ...passed, progress, verdict: 'stopped' }])).to.deep.equal([
      ['T3', 'kills', '20', '0', '≤ 0.15', '1 min 1 s', 'stopped', 'cut off after 25'],
    ]);
  });

  it('claims no bound for a test that hung', () => {
    expect(linesOf([{ ...passed, progress, verdict: 'hung' }])).to.deep.equal([
      ['T3', 'kills', '20', '1', '–', '1 min 1 s', 'hung', 'cut off after 25'],
    ]);
  });

  it('claims nothing of a test that told nothing', () => {
    expect(linesOf([{ ...passed, verdict: 'failed' }])).to.deep.equal([
      ['T3', '–', '–', '–', '–', '1 min 1 s', 'failed'],
    ]);
  });
});

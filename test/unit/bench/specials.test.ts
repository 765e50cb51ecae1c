import { expect } from 'chai';
import { rotated } from '../../bench/rotated.js';
import type { Round } from '../../bench/round.js';
import { specialProblems } from '../../bench/specials-text.js';
import { summarise } from '../../bench/summary.js';

const none = { count: 0, meanMs: 0, maxMs: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, p999Ms: 0 };
const round: Round = {
  design: 'ours',
  scenario: 'HOT',
  load: { loop: 'closed', connections: 64 },
  pool: undefined,
  workers: 1,
  measuredMs: 1_000,
  requestsASecond: 1,
  rowsASecond: 1,
  latency: none,
  refusals: none,
  percentiles: [],
  failures: {},
  neverSent: 0,
  withoutRetryAfter: 0,
  cpuMsARequest: undefined,
  peakMib: undefined,
  foreignCores: undefined,
  problems: [],
};

describe('what the benchmark takes for wrong', () => {
  it('is any failure where the service is not asked for more than it can do, and under overload all but refusals', () => {
    const failing = { ...round, failures: { '503': 2, '504': 1 } };
    const overload = {
      ...{ scenario: 'HOT' as const, connectionsMax: 1, peak: 1, goodput: 1, apiMib: [], workerMib: [] },
      peakRounds: [round],
    };
    expect(specialProblems({ present: { rows: 1, empty: [round], full: [failing] } })).to.deep.equal([
      'HOT under full load: 2 × 503, 1 × 504, where nothing was to fail',
    ]);
    expect(specialProblems({ overload: [{ ...overload, rounds: [failing, round] }] })).to.deep.equal([
      'HOT under overload, beside refusals: 1 × 504, where nothing was to fail',
    ]);
    const ofThePeak = { ...overload, peakRounds: [failing], rounds: [round] };
    expect(specialProblems({ overload: [ofThePeak, ofThePeak] }), 'once, where two share a peak').to.deep.equal([
      'HOT under full load: 2 × 503, 1 × 504, where nothing was to fail',
    ]);
  });

  it('lets no design come right after the same other in every round', () => {
    for (const count of [2, 3, 5]) {
      const all = ['a', 'b', 'c', 'd', 'e'].slice(0, count);
      const orders = [1, 2, 3].map((number) => rotated(all, number));
      for (const order of orders) expect([...order].sort()).to.deep.equal(all);
      for (const design of all) {
        const before = orders.map((order) => order[order.indexOf(design) - 1]);
        expect(new Set(before).size, `${design} of ${count} after ${before.join()}`).to.be.above(1);
      }
    }
  });

  it('knows no part of the machine that others took where the system does not tell', () => {
    expect(summarise([round])[0]?.foreignCores).to.equal(undefined);
    expect(summarise([round, { ...round, foreignCores: 0.25 }])[0]?.foreignCores).to.equal(0.25);
  });
});

import { expect } from 'chai';
import { Registry } from 'prom-client';
import { createApiMetrics, watchDispatch, watchReadiness, watchReads } from '../../../api/admin/api-metrics.js';
import type { DispatchState } from '../../../api/dispatch/dispatch-metrics.js';
import { parseExposition } from '../../support/metrics/exposition.js';

describe('the gauges of an API process', () => {
  it('do not say whether a worker lives while Redis is away, which would have to tell', async () => {
    const registry = new Registry();
    let redis = true;
    watchReadiness(registry, () => ({ postgres: true, redis, worker: false }));
    expect(await registry.metrics()).to.contain('raw_materials_ready{part="worker"} 0');
    redis = false;
    const text = await registry.metrics();
    expect(text).to.contain('raw_materials_ready{part="redis"} 0');
    expect(text).not.to.contain('part="worker"');
  });

  it('say that Postgres is away where it is', async () => {
    const registry = new Registry();
    watchReadiness(registry, () => ({ postgres: false, redis: true, worker: true }));
    const seen = parseExposition(await registry.metrics());
    const ready = seen.samples.map(({ labels, value }) => [labels['part'], value]);
    expect(ready).to.deep.equal([
      ['postgres', 0],
      ['redis', 1],
      ['worker', 1],
    ]);
  });

  it('tell how many reads wait, anew each time', async () => {
    const registry = new Registry();
    let waiting = 3;
    watchReads(registry, () => waiting);
    const seen = async () => parseExposition(await registry.metrics()).sum('raw_materials_reads_waiting');
    expect(await seen()).to.equal(3);
    waiting = 0;
    expect(await seen()).to.equal(0);
  });

  it('tell in seconds how long the first material has waited', async () => {
    const registry = new Registry();
    const pipeline = { readyMaterials: 3, oldestReadyMs: 1_500, liveWorkers: 2 };
    watchDispatch(registry, () => ({ writesInFlight: 1, pipeline }) as unknown as DispatchState);
    expect(await registry.metrics()).to.match(/^raw_materials_backlog_oldest_seconds 1\.5$/m);
  });
});

describe('the counters of an API process', () => {
  it('count each decision of the rate limit under its own label, and all that are possible from 0 on', async () => {
    const { registry, limiterDecided } = createApiMetrics();
    const decided = async () => {
      const seen = parseExposition(await registry.metrics());
      const of = (decision: string) => seen.sum('raw_materials_limiter_decisions_total', { decision });
      const labelled = seen.samples.filter(({ name }) => name === 'raw_materials_limiter_decisions_total');
      expect(labelled).to.have.length(3);
      return [of('allowed'), of('limited'), of('uncounted')];
    };
    expect(await decided()).to.deep.equal([0, 0, 0]);
    for (const decision of ['uncounted', 'limited', 'limited', 'allowed', 'allowed', 'allowed'] as const)
      limiterDecided(decision);
    expect(await decided()).to.deep.equal([3, 2, 1]);
  });

  it('count operations, however many a call tells of at once, and each under its own name', async () => {
    const { registry, dispatch } = createApiMetrics();
    for (const count of [2, 5]) dispatch.lookedUp(count);
    for (const count of [3, 8]) dispatch.cancelled(count);
    dispatch.outcomeUnknown();
    const seen = parseExposition(await registry.metrics());
    expect(seen.sum('raw_materials_outcome_lookups_total')).to.equal(7);
    expect(seen.sum('raw_materials_operations_cancelled_total')).to.equal(11);
    expect(seen.sum('raw_materials_operations_open_total')).to.equal(1);
    expect(seen.sum('raw_materials_jobs_added_again_total')).to.equal(0);
  });
});

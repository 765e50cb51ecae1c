import { expect } from 'chai';
import { Registry } from 'prom-client';
import { watchDispatch, watchReadiness } from '../../../api/admin/api-metrics.js';
import type { DispatchState } from '../../../api/dispatch/dispatch-metrics.js';

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

  it('tell in seconds how long the first material has waited', async () => {
    const registry = new Registry();
    const pipeline = { readyMaterials: 3, oldestReadyMs: 1_500, liveWorkers: 2 };
    watchDispatch(registry, () => ({ writesInFlight: 1, pipeline }) as unknown as DispatchState);
    expect(await registry.metrics()).to.match(/^raw_materials_backlog_oldest_seconds 1\.5$/m);
  });
});

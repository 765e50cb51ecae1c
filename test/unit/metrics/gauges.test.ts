import { expect } from 'chai';
import { Registry } from 'prom-client';
import { startAdminServer } from '../../../shared/metrics/admin-server.js';
import { addGauge, watchPool } from '../../../shared/metrics/gauges.js';

describe('the gauges of a process', () => {
  let registry: Registry;
  beforeEach(() => (registry = new Registry()));

  /** What is scraped, without its comments. */
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));

  it('forget a label that is there no more, and are left out while unknown', async () => {
    let values: Record<string, number> | undefined = { a: 1, b: 2 };
    addGauge(registry, { name: 'queue', help: 'By part.', label: 'part' }, () => values);
    expect(await lines()).to.deep.equal(['queue{part="a"} 1', 'queue{part="b"} 2']);
    values = { b: 3 };
    expect(await lines()).to.deep.equal(['queue{part="b"} 3']);
    values = undefined;
    expect(await lines()).to.deep.equal([]);
  });

  it('of one value alone are left out while that is unknown, also once it was known', async () => {
    let value: number | undefined = 3;
    addGauge(registry, { name: 'waiting', help: 'In all.' }, () => value);
    expect(await lines()).to.deep.equal(['waiting 3']);
    value = undefined;
    expect(await lines()).to.deep.equal([]);
    value = 0;
    expect(await lines()).to.deep.equal(['waiting 0']);
  });

  it('tell the connections in use from the free ones, and from what waits for one', async () => {
    watchPool(registry, () => ({ used: 1, free: 2, waiting: 3 }));
    expect(await lines()).to.deep.equal([
      'raw_materials_database_pool_connections{state="used"} 1',
      'raw_materials_database_pool_connections{state="free"} 2',
      'raw_materials_database_pool_waiting 3',
    ]);
  });

  it('that cannot be read are a 500 that says so, and leave the process alive', async () => {
    addGauge(registry, { name: 'broken', help: 'Fails.' }, () => {
      throw new Error('no such thing');
    });
    const server = await startAdminServer({ host: '127.0.0.1', port: 0, registry });
    try {
      const ask = async (path: string) => {
        const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
        return [answer.status, await answer.text()];
      };
      expect(await ask('/metrics')).to.deep.equal([500, 'The metrics could not be read: no such thing\n']);
      expect(await ask('/healthz')).to.deep.equal([200, 'ok\n']);
    } finally {
      await server.close();
    }
  });
});

import { request as sendRequest } from 'node:http';
import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { createMaterials } from '../../shared/database/create-materials.js';
import { addOne, adjust } from '../support/shop/change.js';
import { scrape } from '../support/metrics/exposition.js';
import type { Sample, Scrape } from '../support/metrics/exposition.js';
import { whileHeld } from '../support/processes/hold-workers.js';
import { request } from '../support/http/http.js';
import { rawUntilClosed } from '../support/http/raw-exchange.js';
import { alertExpressions, dashboardExpressions, groupedBy, namedIn } from '../support/metrics/promql.js';
import { useService } from '../support/processes/use-service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { until } from '../support/time/until.js';

const soonMsMax = 15_000;

/** Prometheus' own metric, and the labels that whoever scrapes adds. */
const notOurs = { metrics: ['up'], labels: ['job', 'instance'] };

describe('the metrics', () => {
  let service: Service;
  let database: Database;
  useService({ env: { ADMIN_PORT: '0' } }, (started) => ({ service, database } = started));
  let shop: TestShop;
  beforeEach(async () => (shop = await createTestShop(database, { materials: 2 })));

  const baseUrl = () => service.baseUrls[0] ?? '';
  const ofApi = () => scrape(service.apis[0]?.adminUrl);
  const ofWorker = () => scrape(service.workers[0]?.adminUrl);
  const callTool = async ({ writeKey: key }: TestShop, name: string, args: object) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    expect((await request(baseUrl(), { method: 'POST', path: '/mcp', key, body })).status).to.equal(200);
  };
  /** What `act` adds to the metrics of both processes. */
  const counted = async (act: () => Promise<void>) => {
    const before = await Promise.all([ofApi(), ofWorker()]);
    await act();
    const after = await Promise.all([ofApi(), ofWorker()]);
    const sumOf = (scrapes: Scrape[], name: string, labels?: Record<string, string>) =>
      scrapes.reduce((sum, each) => sum + each.sum(name, labels), 0);
    return (name: string, labels?: Record<string, string>) => sumOf(after, name, labels) - sumOf(before, name, labels);
  };

  it('are what Prometheus takes, with the event loop and the garbage collector of the process among them', async () => {
    for (const { types } of [await ofApi(), await ofWorker()]) {
      expect(types.get('process_resident_memory_bytes')).to.equal('gauge');
      expect(types.get('nodejs_eventloop_lag_p99_seconds')).to.equal('gauge');
      expect(types.get('nodejs_gc_duration_seconds')).to.equal('histogram');
    }
  });

  it('count requests by method, route and status, and how long they took', async () => {
    const path = `/v1/raw-materials/${shop.materialIds[0] ?? ''}/inventory`;
    const count = await counted(async () => {
      expect((await addOne(baseUrl(), shop)).status).to.equal(200);
      expect((await request(baseUrl(), { path, key: shop.readKey })).status).to.equal(200);
      expect((await adjust(baseUrl(), shop, [])).status).to.equal(400);
      expect((await request(baseUrl(), { path })).status).to.equal(401);
      expect((await request(baseUrl(), { method: 'PURGE', path, key: shop.readKey })).status).to.equal(405);
    });
    const name = 'raw_materials_http_requests_total';
    const route = '/v1/raw-materials/:variantId/inventory';
    expect(count(name, { method: 'PATCH', route, status: '200' })).to.equal(1);
    expect(count(name, { method: 'GET', route, status: '200' })).to.equal(1);
    expect(count(name, { method: 'PATCH', route, status: '400' })).to.equal(1);
    expect(count(name, { method: 'GET', route: 'none', status: '401' })).to.equal(1);
    expect(count(name, { method: 'other', route: 'none', status: '405' })).to.equal(1);
    expect(count('raw_materials_http_request_duration_seconds_count', { method: 'PATCH', route })).to.equal(2);
    expect(count('raw_materials_http_request_duration_seconds_sum', { method: 'PATCH', route })).to.be.greaterThan(0);
  });

  it("count what a tool refuses by the status that REST has for it, beside HTTP's, which is 200", async () => {
    await createMaterials(database, shop.shopId, [{ id: '8001', origin: 'platform', productName: 'Lamp' }]);
    const count = await counted(async () => {
      await callTool(shop, 'get_inventory', { variantId: '8001' });
      await callTool(shop, 'get_inventory', { variantId: 'VMAT-there-is-none' });
      await callTool(shop, 'get_inventory', { variantId: shop.materialIds[0] });
    });
    expect(count('raw_materials_tool_refusals_total', { status: '502' })).to.equal(1);
    expect(count('raw_materials_tool_refusals_total', { status: '404' })).to.equal(1);
    expect(count('raw_materials_tool_refusals_total')).to.equal(2);
    expect(count('raw_materials_http_requests_total', { route: '/mcp', status: '200' })).to.equal(3);
  });

  it('count by status what never was a request of a route', async () => {
    const head = 'GET /v1/raw-materials HTTP/1.1\r\n';
    const count = await counted(async () => {
      for (const [bytes, status] of [
        [`${head}Connection: close\r\n\r\n`, 400],
        ['no HTTP at all\r\n\r\n', 400],
        [`${head}Host: x\r\nExpect: a miracle\r\nConnection: close\r\n\r\n`, 417],
        [`${head}X-Long: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
      ] as const) {
        expect(await rawUntilClosed(service.apis[0]?.port ?? 0, bytes)).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      }
    });
    const name = 'raw_materials_http_refused_total';
    for (const [status, times] of [
      ['400', 2],
      ['417', 1],
      ['431', 1],
    ] as const)
      expect(count(name, { status }), status).to.equal(times);
    expect(count('raw_materials_http_requests_total')).to.equal(0);
  });

  it('count rows by result, those that stopped at zero, operations by outcome, and jobs', async () => {
    const [locationId = '', other = ''] = shop.locationIds;
    const rows = [
      { locationId, delta: 5 },
      { locationId, delta: -9 },
      { locationId: other, absolute: 3 },
      { locationId: '99', delta: 1 },
    ];
    const count = await counted(async () => {
      for (const idempotencyKey of ['once', 'once'])
        expect((await adjust(baseUrl(), shop, rows, { idempotencyKey })).status).to.equal(200);
      expect((await adjust(baseUrl(), shop, [{ locationId, delta: 1 }], { idempotencyKey: 'once' })).status).to.equal(
        422,
      );
      expect((await adjust(baseUrl(), shop, [{ locationId: '99', delta: 1 }])).status).to.equal(404);
      const dryRun = `/v1/raw-materials/${shop.materialIds[0] ?? ''}/inventory?dryRun=true`;
      const asked = {
        method: 'PATCH',
        path: dryRun,
        key: shop.writeKey,
        body: { updates: [{ locationId, delta: -7 }] },
      };
      expect((await request(baseUrl(), asked)).status).to.equal(200);
      expect((await addOne(baseUrl(), shop, { materialId: 'VMAT-there-is-none' })).status).to.equal(404);
    });
    expect(count('raw_materials_rows_total', { result: 'ok' })).to.equal(3);
    expect(count('raw_materials_rows_total', { result: 'NOT_FOUND' })).to.equal(2);
    expect(count('raw_materials_clamped_rows_total')).to.equal(1);
    const outcomes = { executed: 2, replayed: 1, 'key-reused': 1, 'dry-run': 1, rejected: 1, expired: 0, failed: 0 };
    for (const [outcome, times] of Object.entries(outcomes))
      expect(count('raw_materials_operations_total', { outcome }), outcome).to.equal(times);
    for (const size of ['raw_materials_job_operations', 'raw_materials_transaction_operations'])
      expect(count(`${size}_sum`), size).to.equal(6);
    expect(count('raw_materials_transaction_jobs_sum')).to.equal(6);
    expect(count('raw_materials_transaction_materials_sum')).to.equal(6);
    expect(count('raw_materials_transaction_duration_seconds_count')).to.equal(6);
    expect(count('raw_materials_limiter_decisions_total', { decision: 'allowed' })).to.equal(6);
  });

  it('count apart the requests whose clients went away before their answer', async () => {
    const gone = { method: 'PATCH', status: '499' };
    const before = (await ofApi()).sum('raw_materials_http_requests_total', gone);
    await whileHeld(service, async () => {
      const sent = sendRequest(`${baseUrl()}/v1/raw-materials/${shop.materialIds[0] ?? ''}/inventory`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${shop.writeKey}`, 'content-type': 'application/json' },
        agent: false,
      }).on('error', () => undefined);
      sent.end(JSON.stringify({ updates: [{ locationId: shop.locationIds[0], delta: 1 }] }));
      await until(async () => (await ofApi()).sum('raw_materials_writes_in_flight') === 1, {
        deadlineMs: soonMsMax,
        what: 'the write to be in flight',
      });
      // The client ends its half, and waits for the API to end the other one: a client that destroys its socket does
      // not learn when the API has seen that, and a busy API takes up a question that came later at the same moment.
      const closed = new Promise((resolve) => sent.once('close', resolve));
      sent.socket?.end();
      await closed;
      // It tells its answers in the turn of its event loop in which it ends its half, so before the next question is
      // answered and a worker goes on; otherwise that could be quicker, and the request have an answer.
      await ofApi();
    });
    let patches: Sample[] = [];
    const isCounted = async () => {
      const scraped = await ofApi();
      patches = scraped.samples.filter(({ labels }) => labels.method === 'PATCH' && labels.status !== undefined);
      return scraped.sum('raw_materials_http_requests_total', gone) === before + 1;
    };
    await until(isCounted, {
      deadlineMs: soonMsMax,
      what: () => `the request to be counted; counted instead: ${JSON.stringify(patches)}`,
    });
  });

  it('tell a request over the limit from one within it', async () => {
    const limited = await createTestShop(database, { rateLimitPoints: 1 });
    const count = await counted(async () => {
      expect((await addOne(baseUrl(), limited)).status).to.equal(200);
      expect((await addOne(baseUrl(), limited)).status).to.equal(429);
    });
    expect(count('raw_materials_limiter_decisions_total', { decision: 'allowed' })).to.equal(1);
    expect(count('raw_materials_limiter_decisions_total', { decision: 'limited' })).to.equal(1);
    expect(count('raw_materials_limiter_insured_total')).to.equal(0);
  });

  it('name no shop and no material, however many there are', async () => {
    await addOne(baseUrl(), shop);
    const seriesOf = async () => (await Promise.all([ofApi(), ofWorker()])).flatMap(({ samples }) => samples);
    const series = ({ name, labels }: Sample) => `${name} ${JSON.stringify(labels)}`;
    // The backlog and the workers are missing while Redis is slow, as on a busy machine.
    const isOurs = ({ name }: Sample) => /^raw_materials_(?!backlog|live_workers|ready)/.test(name);
    const before = (await seriesOf()).filter(isOurs).map(series);
    const many = await createTestShop(database, { materials: 20 });
    for (const materialId of many.materialIds) await addOne(baseUrl(), many, { materialId });
    const after = (await seriesOf()).filter(isOurs).map(series);
    expect(after).to.deep.equal(before);
    expect(after.filter((each) => each.includes('VMAT'))).to.deep.equal([]);
  });

  it('say what waits for a worker, and for how long, while none comes', async () => {
    const sent = await whileHeld(service, async () => {
      const asked = shop.materialIds.map((materialId) => addOne(baseUrl(), shop, { materialId }));
      await until(
        async () => {
          const api = await ofApi();
          return (
            api.sum('raw_materials_backlog_materials') === 2 &&
            api.sum('raw_materials_backlog_oldest_seconds') > 0 &&
            api.sum('raw_materials_writes_in_flight') === 2
          );
        },
        { deadlineMs: soonMsMax, what: 'two materials in the backlog' },
      );
      return asked;
    });
    for (const answer of await Promise.all(sent)) expect(answer.status).to.equal(200);
    const isIdle = async () => {
      const api = await ofApi();
      return api.sum('raw_materials_backlog_materials') === 0 && api.sum('raw_materials_live_workers') === 1;
    };
    await until(isIdle, { deadlineMs: soonMsMax, what: 'an empty backlog, and one worker' });
  });

  it('are all that the dashboard and the alerts name, with the labels they pick and group by', async () => {
    await addOne(baseUrl(), shop);
    await callTool(shop, 'get_inventory', { variantId: shop.materialIds[0] });
    const scrapes = [await ofApi(), await ofWorker()];
    const known = scrapes.flatMap(({ samples }) => samples);
    const names = new Set(known.map(({ name }) => name));
    const expressions = [...dashboardExpressions(), ...alertExpressions()];
    expect(expressions.length).to.be.greaterThan(40);
    for (const expression of expressions) {
      const named = namedIn(expression);
      expect(named, `names nothing: ${expression}`).to.not.have.length(0);
      for (const { metric, labels, equal } of named) {
        if (notOurs.metrics.includes(metric)) continue;
        expect(names.has(metric), `nothing that was scraped is called ${metric}, of ${expression}`).to.equal(true);
        const there = known.filter(({ name }) => name === metric);
        const has = (label: string) => notOurs.labels.includes(label) || there.some((each) => label in each.labels);
        for (const label of [...labels, ...groupedBy(expression)])
          expect(has(label), `the label ${label} of ${metric} in ${expression}`).to.equal(true);
        for (const [label, value] of equal)
          expect(
            there.some((each) => each.labels[label] === value),
            `${label}="${value}" of ${metric}`,
          ).to.equal(true);
      }
    }
    const used = new Set(expressions.flatMap(namedIn).map(({ metric }) => metric.replace(/_(bucket|sum|count)$/, '')));
    const ours = scrapes.flatMap(({ types }) => [...types.keys()]).filter((name) => name.startsWith('raw_materials_'));
    expect(
      ours.filter((name) => !used.has(name)),
      'on no panel of shared/metrics/grafana-dashboard.json, and in no alert of alerts.yml',
    ).to.deep.equal([]);
  });
});

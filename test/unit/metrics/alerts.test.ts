import { expect } from 'chai';
import { apiSettings } from '../../../api/config.js';
import { workerSettings } from '../../../worker/config.js';
import { evaluatePromql } from '../../support/metrics/evaluate-promql.js';
import type { Series } from '../../support/metrics/evaluate-promql.js';
import { alertRules } from '../../support/metrics/promql.js';

interface Case {
  /** How long it must be so before anybody is called; at once without it. */
  lasts?: string;
  /** Series as on `/metrics`; behind the value of a counter, what it has become since. */
  fires: string[];
  /** As close to that as it may be. */
  quiet: string[];
}

const bucket = 'raw_materials_http_request_duration_seconds_bucket';
const cases: Record<string, Case> = {
  RawMaterialsProcessGone: {
    lasts: '1m',
    fires: ['up{job="raw-materials-api"} 1', 'up{job="raw-materials-worker"} 0'],
    quiet: ['up{job="raw-materials-api"} 1', 'up{job="another"} 0'],
  },
  RawMaterialsNoneScraped: {
    lasts: '2m',
    fires: ['up{job="raw-materials-api"} 1', 'up{job="another"} 1'],
    // What does not answer is another rule's.
    quiet: ['up{job="raw-materials-api"} 1', 'up{job="raw-materials-worker"} 0'],
  },
  RawMaterialsNoWorker: {
    lasts: '30s',
    fires: ['raw_materials_ready{part="worker"} 0', 'raw_materials_ready{part="redis"} 1'],
    // The other API has only just lost sight of them.
    quiet: ['raw_materials_ready{part="worker",instance="a"} 1', 'raw_materials_ready{part="worker",instance="b"} 0'],
  },
  RawMaterialsNotReady: {
    lasts: '30s',
    fires: ['raw_materials_ready{part="redis",instance="a"} 1', 'raw_materials_ready{part="redis",instance="b"} 0'],
    quiet: ['raw_materials_ready{part="redis"} 1', 'raw_materials_ready{part="worker"} 0'],
  },
  RawMaterialsLedgerMismatch: {
    fires: ['raw_materials_ledger_mismatches_total{kind="level"} 3 4'],
    quiet: ['raw_materials_ledger_mismatches_total{kind="level"} 4 4'],
  },
  RawMaterialsOperationsFailed: {
    fires: ['raw_materials_operations_total{outcome="failed"} 0 1'],
    quiet: ['raw_materials_operations_total{outcome="failed"} 1 1', 'raw_materials_operations_total{outcome="ok"} 0 9'],
  },
  RawMaterialsServerErrors: {
    lasts: '5m',
    fires: [
      'raw_materials_http_requests_total{status="504"} 0 11',
      'raw_materials_http_requests_total{status="200"} 0 989',
      // Probes are no requests of clients.
      'raw_materials_http_requests_total{route="/readyz",status="200"} 0 9000',
    ],
    quiet: [
      'raw_materials_http_requests_total{status="504"} 90 99',
      'raw_materials_http_requests_total{status="404"} 0 991',
      'raw_materials_http_requests_total{route="/readyz",status="503"} 0 9000',
    ],
  },
  RawMaterialsToolErrors: {
    lasts: '5m',
    fires: [
      'raw_materials_tool_refusals_total{status="503"} 0 11',
      // Of REST there may be far more.
      ...['/mcp', '/v1/raw-materials'].map((route) => `raw_materials_http_requests_total{route="${route}"} 0 1000`),
    ],
    quiet: [
      'raw_materials_tool_refusals_total{status="503"} 0 10',
      'raw_materials_tool_refusals_total{status="404"} 0 500',
      'raw_materials_http_requests_total{route="/mcp"} 0 1000',
    ],
  },
  RawMaterialsOutcomesUnknown: {
    fires: ['raw_materials_operations_open_total 0 1'],
    quiet: ['raw_materials_operations_open_total 1 1'],
  },
  RawMaterialsBacklog: {
    lasts: '1m',
    fires: ['raw_materials_backlog_oldest_seconds 0', 'raw_materials_backlog_oldest_seconds{instance="b"} 1.6'],
    quiet: ['raw_materials_backlog_oldest_seconds 1.5'],
  },
  RawMaterialsCycleFaults: {
    fires: [
      'raw_materials_cycle_faults_total{instance="a"} 0 11',
      'raw_materials_cycle_faults_total{instance="b"} 0 10',
    ],
    quiet: ['raw_materials_cycle_faults_total 0 20'],
  },
  RawMaterialsSlowWrites: {
    lasts: '5m',
    fires: [`${bucket}{method="PATCH",le="1"} 0 98`, `${bucket}{method="PATCH",le="2.5"} 0 100`],
    quiet: [
      ...[`${bucket}{method="PATCH",le="1"} 0 100`, `${bucket}{method="PATCH",le="2.5"} 0 101`],
      ...[`${bucket}{method="GET",le="1"} 0 0`, `${bucket}{method="GET",le="2.5"} 0 100`],
    ],
  },
  RawMaterialsRedisAway: {
    lasts: '30s',
    fires: ['raw_materials_redis_connected{connection="a"} 1', 'raw_materials_redis_connected{connection="b"} 0'],
    quiet: ['raw_materials_redis_connected{connection="a"} 1'],
  },
  RawMaterialsPoolExhausted: {
    lasts: '1m',
    fires: ['raw_materials_database_pool_waiting 1'],
    quiet: ['raw_materials_database_pool_waiting 0'],
  },
  RawMaterialsEventLoopLate: {
    lasts: '5m',
    fires: ['nodejs_eventloop_lag_p99_seconds{job="raw-materials-worker"} 0.26'],
    quiet: [
      'nodejs_eventloop_lag_p99_seconds{job="raw-materials-worker"} 0.25',
      'nodejs_eventloop_lag_p99_seconds{job="another"} 9',
    ],
  },
  RawMaterialsLimitInMemory: {
    lasts: '2m',
    fires: ['raw_materials_limiter_insured_total 0 1'],
    quiet: ['raw_materials_limiter_insured_total 1 1'],
  },
  RawMaterialsLeasesLost: {
    fires: ['raw_materials_leases_lost_total 0 1'],
    quiet: ['raw_materials_leases_lost_total 1 1'],
  },
  RawMaterialsMirrorsOverdue: {
    lasts: '15m',
    // The other worker was started without an interval.
    fires: ['raw_materials_mirrors_overdue{instance="a"} 0', 'raw_materials_mirrors_overdue{instance="b"} 1'],
    quiet: ['raw_materials_mirrors_overdue 0'],
  },
};

function seriesOf(line: string): Series {
  const [, name = '', labels = '', before = '', now = before] =
    /^(\w+)(?:\{(.*)\})? (\S+)(?: (\S+))?$/.exec(line) ?? [];
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value] as const);
  const increase = Number(now) - Number(before);
  return { name, labels: Object.fromEntries(pairs) as Series['labels'], value: Number(now), increase };
}

describe('the alert rules', () => {
  const rules = alertRules();

  it('have each a case here', () => {
    expect(rules.map(({ name }) => name)).to.deep.equal(Object.keys(cases));
  });

  it('have each a description, which names only settings that exist', () => {
    for (const { name, description = '' } of rules) {
      expect(description, name).to.have.length.above(0);
      const settings = description.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [];
      expect({ ...apiSettings, ...workerSettings }, name).to.include.keys(...settings, 'DATABASE_URL');
    }
  });

  for (const [name, { lasts, fires, quiet }] of Object.entries(cases)) {
    it(`${name} fires for what it is to tell, and not a step before`, () => {
      const rule = rules.find((each) => each.name === name);
      const selected = (lines: string[]) => evaluatePromql(rule?.expression ?? '', lines.map(seriesOf));
      expect(selected(fires), 'what is to fire').to.have.length(1);
      expect(selected(quiet), 'what is to be quiet').to.deep.equal([]);
      expect(rule?.lasts).to.equal(lasts);
    });
  }
});

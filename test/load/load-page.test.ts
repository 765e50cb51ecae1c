import { expect } from 'chai';
import { loadPage } from './load-page.js';
import { summariseLoad } from './load-summary.js';
import { reportText } from './load-text.js';
import type { LoadReport } from './run-load.js';

const summary = summariseLoad([
  {
    startedAtMs: 0,
    stages: [],
    series: [],
    statuses: { '200': 1, '503': 3 },
    sent: 4,
    neverSent: 7,
    withoutRetryAfter: 3,
    accounts: [],
    missed: [],
  },
]);

describe('the page of a load', () => {
  it('says what the table says: that the levels could not be read, and what was never sent', () => {
    const report: LoadReport = {
      baseUrl: 'http://127.0.0.1:3000/v1',
      scenario: 'HOT',
      title: 'one material',
      loop: 'open',
      connectionsMax: 1,
      processes: 1,
      seed: 1,
      summary,
      levels: undefined,
      unheld: 'connect ECONNREFUSED',
      probes: { count: 0, problems: [] },
      thresholds: [],
    };
    for (const told of [loadPage(report), reportText(report)]) {
      expect(told)
        .to.include('NOT HELD against the levels, which could not be read: connect ECONNREFUSED')
        .and.include('never sent, for want of a free connection: 7')
        .and.include('429 and 503 without Retry-After: 3');
    }
  });
});

import { expect } from 'chai';
import {
  readBatchQuery,
  readHistoryQuery,
  readInventoryQuery,
  readListQuery,
  readMaterialQuery,
  refuseQuery,
} from '../../../shared/contract/read-query.js';
import { parseQuery } from '../../../api/http/query.js';

function parametersOf(querystring: string) {
  const parsed = parseQuery(querystring);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.data;
}

const refusedOfList: { query: string; path: string }[] = [
  { query: 'page=0', path: 'page' },
  { query: 'page=-1', path: 'page' },
  { query: 'page=1.5', path: 'page' },
  { query: 'page=1e2', path: 'page' },
  { query: 'page=', path: 'page' },
  { query: 'page=%201', path: 'page' },
  { query: 'page=1000001', path: 'page' },
  { query: 'page=9000000000000000', path: 'page' },
  { query: 'page=99999999999999999999', path: 'page' },
  { query: 'page=1&page=1', path: 'page' },
  { query: 'pageSize=1001', path: 'pageSize' },
  { query: 'pageSize=0', path: 'pageSize' },
  { query: 'usageFilter=some', path: 'usageFilter' },
  { query: 'originFilter=', path: 'originFilter' },
  { query: 'sortBy=sku&sortBy=sku', path: 'sortBy' },
  { query: 'search=a&search=b', path: 'search' },
];

describe('the query of the list', () => {
  for (const { query, path } of refusedOfList) {
    it(`refuses ${query}`, () => {
      const read = readListQuery(parametersOf(query));
      expect(read.ok ? [] : read.error.details?.map((detail) => detail.path)).to.include(path);
    });
  }

  it('is typed, with what is unknown ignored and only vendorFilter repeatable', () => {
    const query =
      'page=2&pageSize=1000&search=a+b%26c&vendorFilter=x&vendorFilter=%C3%A9&sortBy=nonsense&colour=red&colour=blue';
    expect(readListQuery(parametersOf(query))).to.deep.equal({
      ok: true,
      data: { page: 2, pageSize: 1_000, search: 'a b&c', vendorFilter: ['x', 'é'], sortBy: 'nonsense' },
    });
  });
});

describe('a number that is too large', () => {
  for (const page of ['1000001', '99999999999999999999']) {
    it(`is told its bound: ${page}`, () => {
      const read = readListQuery(parametersOf(`page=${page}`));
      expect(read.ok ? undefined : read.error.details).to.deep.equal([
        { path: 'page', message: 'Must be at most 1000000.' },
      ]);
    });
  }
});

describe('the other queries', () => {
  it('take at most 250 locations', () => {
    const locations = (count: number) => Array.from({ length: count }, (_, index) => `locationIds=${index}`).join('&');
    expect(readInventoryQuery(parametersOf(locations(250))).ok).to.equal(true);
    const read = readInventoryQuery(parametersOf(locations(251)));
    expect(read.ok ? undefined : read.error.details).to.deep.equal([
      { path: 'locationIds', message: 'Must hold at most 250 values.' },
    ]);
  });

  it('take includeConnections as true or false and nothing else', () => {
    expect(readMaterialQuery(parametersOf('includeConnections=true'))).to.deep.equal({
      ok: true,
      data: { includeConnections: true },
    });
    for (const value of ['1', '', 'TRUE']) {
      expect(readMaterialQuery(parametersOf(`includeConnections=${value}`)).ok).to.equal(false);
    }
  });

  it('know no parameter on a write', () => {
    expect(refuseQuery(parametersOf(''))).to.equal(undefined);
    expect(refuseQuery(parametersOf('dryrun=true'))?.error.details?.[0]?.path).to.equal('dryrun');
  });
});

describe('the query of the inventory update', () => {
  it('takes dryRun as true or false', () => {
    expect(readBatchQuery(parametersOf(''))).to.deep.equal({ ok: true, data: {} });
    expect(readBatchQuery(parametersOf('dryRun=true'))).to.deep.equal({ ok: true, data: { dryRun: true } });
    expect(readBatchQuery(parametersOf('dryRun=false'))).to.deep.equal({ ok: true, data: { dryRun: false } });
  });

  for (const query of ['dryRun', 'dryRun=', 'dryRun=1', 'dryRun=TRUE', 'dryRun=yes', 'dryRun=true&dryRun=true']) {
    it(`refuses ${query}: what is not plainly a dry run must not commit`, () => {
      const read = readBatchQuery(parametersOf(query));
      expect(read.ok ? [] : read.error.details?.map(({ path }) => path)).to.include('dryRun');
    });
  }

  it('refuses every other parameter', () => {
    const read = readBatchQuery(parametersOf('dryRun=true&dryrun=true'));
    expect(read.ok ? [] : read.error.details?.map(({ path }) => path)).to.deep.equal(['dryrun']);
  });
});

const refusedOfHistory: { query: string; path: string }[] = [
  { query: 'limit=0', path: 'limit' },
  { query: 'limit=251', path: 'limit' },
  { query: 'limit=ten', path: 'limit' },
  { query: 'limit=1&limit=2', path: 'limit' },
  { query: `cursor=${'x'.repeat(65)}`, path: 'cursor' },
  { query: 'locationId=', path: 'locationId' },
  { query: 'requestId=1', path: 'requestId' },
  { query: 'requestId=urn:uuid:0197f9a5-0000-7000-8000-000000000000', path: 'requestId' },
  { query: 'from=yesterday', path: 'from' },
  { query: 'to=2026-02-30', path: 'to' },
  { query: 'to=2026-01-01T00:00:00', path: 'to' },
];

describe('the query of the history', () => {
  for (const { query, path } of refusedOfHistory) {
    it(`refuses ${query.slice(0, 40)}`, () => {
      const read = readHistoryQuery(parametersOf(query));
      expect(read.ok ? [] : read.error.details?.map((detail) => detail.path)).to.include(path);
    });
  }

  it('is typed, with what is unknown ignored', () => {
    const query = 'limit=250&locationId=A&from=2026-01-01&to=2026-01-31T10:00:00%2B02:00&colour=red';
    expect(readHistoryQuery(parametersOf(query))).to.deep.equal({
      ok: true,
      data: { limit: 250, locationId: 'A', from: '2026-01-01', to: '2026-01-31T10:00:00+02:00' },
    });
  });
});

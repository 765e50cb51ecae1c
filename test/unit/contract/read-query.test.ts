import { expect } from 'chai';
import {
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

const refused: { query: string; path: string }[] = [
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
  for (const { query, path } of refused) {
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
      { path: 'locationIds', message: 'Must hold at most 250.' },
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

describe('the text of a query', () => {
  it('that cannot be decoded or stored is refused, not replaced', () => {
    for (const query of ['search=%E0%A4%A', 'search=%ff', 'search=%00', '%zz=1', 'search=%ED%A0%80']) {
      expect(parseQuery(query).ok, query).to.equal(false);
    }
  });
});

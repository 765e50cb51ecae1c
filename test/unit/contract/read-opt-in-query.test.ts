import { expect } from 'chai';
import { readBatchQuery, readHistoryQuery } from '../../../shared/contract/read-query.js';
import { parseQuery } from '../../../api/http/query.js';

function parametersOf(querystring: string) {
  const parsed = parseQuery(querystring);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.data;
}

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

const refused: { query: string; path: string }[] = [
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
  for (const { query, path } of refused) {
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

import { expect } from 'chai';
import { parseQuery } from '../../../api/http/query.js';

describe('the parameters of a query', () => {
  it('are a thousand at most, empty ones included', () => {
    const query = (count: number) => Array.from({ length: count }, (_, index) => `p${String(index)}=1`).join('&');
    const most = parseQuery(query(1_000));
    expect(most.ok && most.data.size).to.equal(1_000);
    expect(parseQuery(query(1_001))).to.have.nested.property('error.code', 'INVALID_INPUT');
    expect(parseQuery('&'.repeat(999))).to.have.property('ok', true);
    expect(parseQuery('&'.repeat(1_000))).to.have.nested.property('error.code', 'INVALID_INPUT');
  });

  it('have a value from the first = on, with a blank for each +, and say nothing where they are empty', () => {
    const read = parseQuery('&search=a=b+c+d&&page&');
    expect(read.ok && [...read.data]).to.deep.equal([
      ['search', ['a=b c d']],
      ['page', ['']],
    ]);
  });

  it('are refused, not replaced, where their text cannot be decoded or stored', () => {
    for (const query of ['search=%E0%A4%A', 'search=%ff', 'search=%00', '%zz=1', 'search=%ED%A0%80']) {
      expect(parseQuery(query).ok, query).to.equal(false);
    }
  });
});

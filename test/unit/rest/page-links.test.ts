import { expect } from 'chai';
import { pageLinks } from '../../../api/rest/page-links.js';

const relations = (link = ''): Record<string, string> =>
  Object.fromEntries([...link.matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, target, rel]) => [rel ?? '', target ?? '']));

describe('the links of a page', () => {
  it('keep every other parameter that the list knows', () => {
    const query = new Map([
      ['page', ['2']],
      ['utm_source', ['letter']],
      ['toString', ['1']],
      ['vendorFilter', ['a b', 'é']],
    ]);
    const rest = 'vendorFilter=a+b&vendorFilter=%C3%A9';
    expect(relations(pageLinks(query, { page: 2, totalPages: 3 }))).to.deep.equal({
      first: `raw-materials?page=1&${rest}`,
      prev: `raw-materials?page=1&${rest}`,
      next: `raw-materials?page=3&${rest}`,
      last: `raw-materials?page=3&${rest}`,
    });
  });

  it('leave out what is not there', () => {
    const only = { first: 'raw-materials?page=1', last: 'raw-materials?page=1' };
    expect(relations(pageLinks(new Map(), { page: 1, totalPages: 1 }))).to.deep.equal(only);
    expect(relations(pageLinks(new Map(), { page: 1, totalPages: 0 }))).to.deep.equal(only);
    expect(relations(pageLinks(new Map(), { page: 9, totalPages: 2 }))).to.deep.equal({
      first: 'raw-materials?page=1',
      prev: 'raw-materials?page=2',
      last: 'raw-materials?page=2',
    });
  });

  it('lead to no page beyond the last that may be asked for', () => {
    const relationsAt = (page: number) => Object.keys(relations(pageLinks(new Map(), { page, totalPages: 1_000_001 })));
    expect(relationsAt(999_999)).to.deep.equal(['first', 'prev', 'next']);
    expect(relationsAt(1_000_000)).to.deep.equal(['first', 'prev']);
    const atMost = { page: 999_999, totalPages: 1_000_000 };
    expect(relations(pageLinks(new Map(), atMost))).to.include({ last: 'raw-materials?page=1000000' });
  });

  it('are only those of the pages beside it where all would be longer than 3 KiB, and none where those are too', () => {
    const linksOf = (length: number, of: { page: number; totalPages: number }) =>
      pageLinks(new Map([['search', ['x'.repeat(length)]]]), of);
    const middle = { page: 2, totalPages: 3 };
    expect(Object.keys(relations(linksOf(600, middle)))).to.deep.equal(['first', 'prev', 'next', 'last']);
    expect(Object.keys(relations(linksOf(800, middle)))).to.deep.equal(['prev', 'next']);
    expect(Object.keys(relations(linksOf(2_000, { page: 1, totalPages: 3 })))).to.deep.equal(['next']);
    expect(linksOf(2_000, middle)).to.equal(undefined);
    expect(linksOf(2_000, { page: 1, totalPages: 1 })).to.equal(undefined);
  });

  it('are counted as they are sent, escaped', () => {
    const query = new Map([['vendorFilter', Array.from({ length: 100 }, (_, index) => `~~~~~~~~~~${index}`)]]);
    expect(pageLinks(query, { page: 2, totalPages: 3 })).to.equal(undefined);
  });
});

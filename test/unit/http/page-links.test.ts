import { expect } from 'chai';
import { pageLinks } from '../../../api/rest/list-materials.js';

const path = '/v1/raw-materials';
const relations = (link: string): Record<string, string> =>
  Object.fromEntries([...link.matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, target, rel]) => [rel ?? '', target ?? '']));

describe('the links of a page', () => {
  it('keep every other parameter', () => {
    const query = new Map([
      ['page', ['2']],
      ['vendorFilter', ['a b', 'é']],
    ]);
    const rest = 'vendorFilter=a+b&vendorFilter=%C3%A9';
    expect(relations(pageLinks(path, query, { page: 2, totalPages: 3 }))).to.deep.equal({
      first: `${path}?page=1&${rest}`,
      prev: `${path}?page=1&${rest}`,
      next: `${path}?page=3&${rest}`,
      last: `${path}?page=3&${rest}`,
    });
  });

  it('leave out what is not there', () => {
    const only = { first: `${path}?page=1`, last: `${path}?page=1` };
    expect(relations(pageLinks(path, new Map(), { page: 1, totalPages: 1 }))).to.deep.equal(only);
    expect(relations(pageLinks(path, new Map(), { page: 1, totalPages: 0 }))).to.deep.equal(only);
    expect(relations(pageLinks(path, new Map(), { page: 9, totalPages: 2 }))).to.deep.equal({
      first: `${path}?page=1`,
      prev: `${path}?page=2`,
      last: `${path}?page=2`,
    });
  });
});

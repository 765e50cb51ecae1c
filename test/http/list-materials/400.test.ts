import { expect } from 'chai';
import { useHttpService } from '../../support/http-service.js';
import { expectFaults } from '../../support/reply.js';
import { createTestShop } from '../../support/shop.js';
import type { TestShop } from '../../support/shop.js';

describe('GET /v1/raw-materials: 400', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  const ask = (query: string) => http.ask({ path: `/v1/raw-materials?${query}`, key: shop.readKey });

  const cases: { query: string; names: string }[] = [
    ...['0', '-1', '1000001', '9e15', '9000000000000000', '99999999999999999999999', '1.5', '1e2', 'abc', '', '+1'].map(
      (value) => ({ query: `page=${value}`, names: 'page' }),
    ),
    ...['0', '-1', '1001', '1e3', '12.5', 'all', ''].map((value) => {
      return { query: `pageSize=${value}`, names: 'pageSize' };
    }),
    { query: 'page=9007199254740993&pageSize=1000', names: 'page' },
    ...['', 'Used', 'yes'].map((value) => ({ query: `usageFilter=${value}`, names: 'usageFilter' })),
    ...['', 'VIRTUAL', 'shopify'].map((value) => ({ query: `originFilter=${value}`, names: 'originFilter' })),
    ...['page=1', 'pageSize=5', 'search=a', 'usageFilter=all', 'originFilter=all', 'sortBy=sku', 'sortOrder=asc'].map(
      (pair) => ({ query: `${pair}&${pair}`, names: pair.split('=')[0]! }),
    ),
    ...['page', 'search', 'vendorFilter', 'sortBy', 'unknown'].flatMap((name) =>
      // A bad escape, a NUL, a lone surrogate in UTF-8, and UTF-8 cut short: Postgres stores none of them.
      ['%E0%A4%A', '%00', '%ED%A0%80', '%E2%82', '%zz', '%'].map((value) => ({
        query: `${name}=${value}`,
        names: name,
      })),
    ),
  ];
  for (const { query, names } of cases) {
    it(`?${query} is refused and names ${names}`, async () => {
      expectFaults(await ask(query), [names]);
    });
  }

  it('names every fault of a query', async () => {
    expectFaults(await ask('page=0&pageSize=1001&originFilter=x&search=a&search=b'), [
      'search',
      'page',
      'pageSize',
      'originFilter',
    ]);
  });

  it('a name that cannot be decoded, and more parameters than can be meant, name the query', async () => {
    expectFaults(await ask('%E0%A4%A=1'), ['query']);
    expectFaults(await ask('a&'.repeat(1_001)), ['query']);
  });

  it('says in words what is wrong', async () => {
    const [fault] = expectFaults(await ask('pageSize=1001'), ['pageSize']);
    expect(fault?.message).to.equal('Must be at most 1000.');
  });
});

import { expect } from 'chai';
import { createMaterials } from '../../../shared/database/create-materials.js';
import type { Material } from '../../../shared/domain/material.js';
import { useHttpService } from '../../support/http/http-service.js';
import { expectData, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

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

  describe('of a page with more than 16 MiB of text as JSON', () => {
    const mib = 1_024 * 1_024;
    /** A shop whose long texts have `characters` of this kind each. */
    async function shopOf(character: string, characters: number, materials = 1_000): Promise<TestShop> {
      const filled = await createTestShop(http.database, { materials: 0 });
      for (let start = 0; start < materials; start += 250) {
        const ids = Array.from({ length: Math.min(250, materials - start) }, (_, index) => `VMAT-${start + index}`);
        const texts = { productName: 'M', specifications: character.repeat(characters) };
        const virtual = ids.map((id) => ({ id, origin: 'virtual' as const, ...texts }));
        await createMaterials(http.database, filled.shopId, virtual);
      }
      return filled;
    }
    const page = (of: TestShop, query: string) => http.ask({ path: `/v1/raw-materials?${query}`, key: of.readKey });
    const itemsOf = async (of: TestShop, query: string) =>
      (expectData(await page(of, query), 'list') as { items: Material[] }).items;

    it('is refused, however it is found, and says how much there is; fewer are served', async () => {
      const large = await shopOf('\u{1F600}', 10_000);
      for (const query of ['', '&sortBy=sku&sortOrder=desc', '&search=m', '&originFilter=virtual&usageFilter=unused']) {
        expect(expectFaults(await page(large, `pageSize=1000${query}`), ['pageSize']), query).to.deep.equal([
          {
            path: 'pageSize',
            message: 'The materials of this page have 39 MiB of text; a page may have 16. Ask for fewer.',
          },
        ]);
      }
      for (const query of ['pageSize=400&page=3', 'pageSize=400&page=3&search=m', 'pageSize=200']) {
        const items = await itemsOf(large, query);
        expect(items, query).to.have.length(200);
        for (const { specifications } of items) expect(specifications).to.equal('\u{1F600}'.repeat(10_000));
      }
      expectFaults(await page(large, 'pageSize=450&page=2'), ['pageSize']);
    });

    it('counts what takes more room as JSON as that', async () => {
      const large = await shopOf('\u0001', 10_000, 300);
      const [fault] = expectFaults(await page(large, 'pageSize=1000'), ['pageSize']);
      expect(fault?.message).to.contain(' have 18 MiB of text');
      expect(await itemsOf(large, 'pageSize=270')).to.have.length(270);
      expect(await itemsOf(large, 'pageSize=270&page=2')).to.have.length(30);
    });

    it('is refused from the first byte beyond, and served whole up to there', async () => {
      // Beside the long text each has a name of one byte. As JSON, a line feed is two.
      const lines = '\n'.repeat(Math.floor(((16 * mib) / 1_000 - 1) / 2));
      const left = 16 * mib - 1_000 * (1 + 2 * lines.length);
      const full = await shopOf('\n', lines.length);
      const setText = (specifications: string) =>
        http.database('materials').where({ shop_id: full.shopId, id: 'VMAT-7' }).update({ specifications });
      await setText(lines + 'x'.repeat(left));
      expect(await itemsOf(full, 'pageSize=1000')).to.have.length(1_000);
      await setText(lines + 'x'.repeat(left + 1));
      expectFaults(await page(full, 'pageSize=1000'), ['pageSize']);
    });
  });
});

import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { startPrefixProxy } from '../../support/http/prefix-proxy.js';
import type { PrefixProxy } from '../../support/http/prefix-proxy.js';
import { createTestShop } from '../../support/shop/shop.js';

interface Page {
  data: { page: number; items: { id: string }[] };
}

describe('behind a proxy that serves the API under a prefix', () => {
  const http = useHttpService();
  let proxy: PrefixProxy;
  before(async () => {
    proxy = await startPrefixProxy(http.port, '/rm');
  });
  after(() => proxy.close());

  it('the address of the service in the OpenAPI document leads to it, from the address of the document', async () => {
    const asked = `${proxy.url}/openapi.json`;
    const { servers } = (await (await fetch(asked)).json()) as { servers: { url: string }[] };
    for (const { url } of servers) {
      // A path of the document is put behind the address, without a slash at its end.
      const server = new URL(url, asked).href.replace(/\/$/, '');
      expect((await fetch(`${server}/healthz`)).status, server).to.equal(200);
    }
  });

  it('the links of a page lead to the pages, from the address of the page', async () => {
    const shop = await createTestShop(http.database, { materials: 5 });
    const get = async (address: string) => {
      const answer = await fetch(address, { headers: { authorization: `Bearer ${shop.readKey}` } });
      expect(answer.status, address).to.equal(200);
      return { link: answer.headers.get('link') ?? '', data: ((await answer.json()) as Page).data };
    };
    const asked = `${proxy.url}/v1/raw-materials?search=material&page=2&pageSize=2`;
    const { link } = await get(asked);
    const found: Record<string, number> = {};
    for (const [, target = '', relation = ''] of link.matchAll(/<([^>]*)>; rel="(\w+)"/g)) {
      found[relation] = (await get(new URL(target, asked).href)).data.page;
    }
    expect(found).to.deep.equal({ first: 1, prev: 1, next: 3, last: 3 });
  });
});

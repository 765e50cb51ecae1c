import { expect } from 'chai';
import type { Material } from '../../../shared/domain/material.js';
import { document } from '../../support/http/documented.js';
import { useHttpService } from '../../support/http/http-service.js';
import { listPath, materialPath } from '../../support/http/material-paths.js';
import { expectData } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const pageSize = 5;

describe('GET /v1/raw-materials while materials change', () => {
  const http = useHttpService();

  /** A page in the order in which all can be read. */
  async function newest(shop: TestShop, page: number): Promise<Material[]> {
    const path = `${listPath}?sortBy=updatedAt&sortOrder=desc&pageSize=${pageSize}&page=${page}`;
    return (expectData(await http.ask({ path, key: shop.readKey }), 'list') as { items: Material[] }).items;
  }

  async function rename(shop: TestShop, id: string, productName: string): Promise<void> {
    const asked = { method: 'PATCH', path: materialPath(id), key: shop.writeKey, body: { productName } };
    expectData(await http.ask(asked), 'material');
  }

  it('says how to read all pages', () => {
    const { description } = document.paths['/v1/raw-materials']!['get'] as { description: string };
    expect(description).to.contain('sort by `updatedAt` descending and drop ids seen before');
    expect(description).to.contain('If `totalCount` has shrunk, begin again.');
  });

  it('newest first, its pages hold all that did not change, and the first ones then what did', async () => {
    const shop = await createTestShop(http.database, { materials: 8 * pageSize });
    const seen = new Set<string>();
    const renamed = new Set<string>();
    for (let page = 1; ; page += 1) {
      const items = await newest(shop, page);
      for (const { id } of items) seen.add(id);
      if (items.length < pageSize) break;
      const [read] = items;
      const unread = shop.materialIds.find((id) => !seen.has(id));
      for (const id of [read!.id, ...(unread === undefined ? [] : [unread])]) {
        renamed.add(id);
        await rename(shop, id, `Renamed on page ${page}`);
      }
    }
    const missed = shop.materialIds.filter((id) => !seen.has(id));
    expect([...renamed]).to.include.members(missed);
    const again = new Set<string>();
    for (let page = 1; page <= Math.ceil(renamed.size / pageSize); page += 1) {
      for (const { id } of await newest(shop, page)) again.add(id);
    }
    expect([...again]).to.include.members([...renamed]);
  });
});

import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
import type { ListPage } from '../../../shared/contract/list-page.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { expectData } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import { dataOf, errorOf, generations, withAgent } from './agent-client.js';

const reads = ['list_raw_materials', 'get_raw_material', 'get_inventory', 'get_inventory_history'];
const writes = ['update_raw_material', 'adjust_inventory'];

describe('POST /mcp: the tools', () => {
  const http = useHttpService();

  for (const generation of generations) {
    it(`a client of ${generation} finds every tool with its schemas and hints, and may call one`, async () => {
      const shop = await createTestShop(http.database);
      await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey, generation }, async (client) => {
        expect(client.getNegotiatedProtocolVersion()).to.equal(generation);
        expect(client.getInstructions()).to.contain('VMAT-');
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name)).to.deep.equal([...reads, ...writes]);
        for (const { name, annotations } of tools) {
          expect(annotations, name).to.include({
            readOnlyHint: reads.includes(name),
            destructiveHint: writes.includes(name),
            idempotentHint: name !== 'adjust_inventory',
            openWorldHint: false,
          });
        }
        const page = (await dataOf(client, 'list_raw_materials')) as { totalCount: number };
        expect(page.totalCount).to.equal(1);
      });
    });
  }

  it('their list is for the key that asked alone: another key may see fewer', async () => {
    const { readKey: key } = await createTestShop(http.database);
    await withAgent({ baseUrl: http.baseUrl, key, generation: '2026-07-28' }, async (client) => {
      expect(await client.listTools()).to.include({ cacheScope: 'private' });
    });
  });

  it('what is published are strict JSON Schemas that say nothing but common formats', async () => {
    const shop = await createTestShop(http.database);
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const { tools } = await client.listTools();
      const formats = [...JSON.stringify(tools).matchAll(/"format":"([^"]+)"/g)].map(([, format]) => format);
      expect([...new Set(formats)].sort()).to.deep.equal(['date-time', 'uuid']);
      for (const { name, title, description, inputSchema, outputSchema } of tools) {
        expect(title, name).to.be.a('string');
        expect(description, name).to.have.length.above(80);
        expect(inputSchema, name).to.include({ type: 'object', additionalProperties: false });
        expect(ajv.validateSchema(inputSchema), name).to.equal(true);
        expect(ajv.validateSchema((outputSchema ?? {}) as object), name).to.equal(true);
      }
    });
  });

  it('what is published speaks of arguments, and not of the paths, parameters and headers of REST', async () => {
    const shop = await createTestShop(http.database);
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const { tools } = await client.listTools();
      const descriptions = [...JSON.stringify(tools).matchAll(/"description":"((?:[^"\\]|\\.)*)"/g)].map(
        ([, text]) => text!,
      );
      const ofRest = /\b(paths?|parameters?|headers?|quer(?:y|ies)|Prefer|Idempotency-Key|If-Match)\b|\/v1/;
      expect(descriptions.filter((text) => ofRest.test(text))).to.deep.equal([]);
      expect(descriptions).to.have.length.above(30);
    });
  });

  it('a key that may only read does not see the tools that write', async () => {
    const shop = await createTestShop(http.database);
    await withAgent({ baseUrl: http.baseUrl, key: shop.readKey }, async (client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).to.deep.equal(reads);
    });
  });

  it('a batch may be as large as on REST, where a read has less room', async () => {
    const shop = await createTestShop(http.database);
    const [variantId = ''] = shop.materialIds;
    const reason = 'as counted at the end of the day';
    const updates = Array.from({ length: 1_000 }, () => ({ locationId: shop.locationIds[0], delta: 1, reason }));
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const { okCount } = (await dataOf(client, 'adjust_inventory', { variantId, updates })) as { okCount: number };
      expect(okCount).to.equal(1_000);
    });
  });

  it('takes as many vendors as it says, which names the argument where there are more', async () => {
    const shop = await createTestShop(http.database);
    await withAgent({ baseUrl: http.baseUrl, key: shop.readKey }, async (client) => {
      const { tools } = await client.listTools();
      const list = tools.find(({ name }) => name === 'list_raw_materials') ?? expect.fail('no such tool');
      const { maxItems } = list.inputSchema.properties?.['vendorFilter'] as { maxItems: number };
      const listWith = (count: number) =>
        client.callTool({
          name: list.name,
          arguments: { vendorFilter: Array.from({ length: count }, (_, index) => `Vendor ${String(index)}`) },
        });
      expect(await listWith(maxItems)).to.not.have.property('isError', true);
      const refused = await listWith(maxItems + 1);
      expect(refused).to.have.property('isError', true);
      expect(JSON.stringify(refused.content)).to.contain('/vendorFilter');
    });
  });

  it('a page has less room than on REST, for texts and for the names of vendors, and says so', async () => {
    const shop = await createTestShop(http.database, { materials: 0 });
    const texts = { specifications: '\u0001'.repeat(10_000) };
    const virtual = Array.from({ length: 300 }, (_, index) => {
      const vendor = String(index).padStart(3, '0').padEnd(255, '\u0001');
      return { id: `VMAT-${index}`, origin: 'virtual' as const, productName: 'M', vendor, ...texts };
    });
    await createMaterials(http.database, shop.shopId, virtual);
    const rest = expectData(await http.ask({ path: `${listPath}?pageSize=30`, key: shop.readKey }), 'list') as ListPage;
    expect([rest.items.length, rest.availableVendors.length]).to.deep.equal([30, 300]);
    await withAgent({ baseUrl: http.baseUrl, key: shop.readKey }, async (client) => {
      const { message } = await errorOf(client, 'list_raw_materials', { pageSize: 30 }, 'INVALID_INPUT');
      expect(message).to.contain('MiB of text; a page may have 1. Ask for fewer.');
      const page = (await dataOf(client, 'list_raw_materials', { pageSize: 10 })) as ListPage;
      expect(page.items).to.have.length(10);
      // Each takes 3 characters, 252 of six bytes, two quotes and a comma.
      const room = Math.floor(65_536 / (3 + 6 * 252 + 3));
      expect(page.availableVendors).to.deep.equal(rest.availableVendors.slice(0, room));
    });
  });

  it('each tool answers with the data of its REST twin', async () => {
    const shop = await createTestShop(http.database, { materials: 3 });
    const [variantId = ''] = shop.materialIds;
    const rest = async (path: string): Promise<unknown> => {
      const { text } = await http.ask({ path, key: shop.readKey });
      return (JSON.parse(text) as { data: unknown }).data;
    };
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const adjusted: unknown = await dataOf(client, 'adjust_inventory', {
        variantId,
        updates: [
          { locationId: '1001', delta: 5, reason: 'found' },
          { locationId: '1002', absolute: 2.5 },
          { locationId: '1001', delta: -7 },
        ],
      });
      const ok = { ok: true, id: variantId };
      expect(adjusted).to.deep.equal({
        results: [
          { ...ok, index: 0, locationId: '1001', previous: 0, applied: 5, level: 5, clamped: false },
          { ...ok, index: 1, locationId: '1002', previous: 0, applied: 2.5, level: 2.5, clamped: false },
          { ...ok, index: 2, locationId: '1001', previous: 5, applied: -5, level: 0, clamped: true },
        ],
        okCount: 3,
        failedCount: 0,
        skippedCount: 0,
      });
      const updated: unknown = await dataOf(client, 'update_raw_material', {
        variantId,
        changes: { vendor: 'Acme', unitCost: 0.1 + 0.2, sku: null },
      });
      expect(updated).to.include({ vendor: 'Acme', unitCost: 0.3, sku: null, inventoryQuantity: 2.5 });

      expect(await dataOf(client, 'get_raw_material', { variantId })).to.deep.equal(updated);
      expect(await rest(materialPath(variantId))).to.deep.equal(updated);
      expect(await dataOf(client, 'get_raw_material', { variantId, includeConnections: true })).to.deep.equal(
        await rest(`${materialPath(variantId)}?includeConnections=true`),
      );
      expect(await dataOf(client, 'get_inventory', { variantId })).to.deep.equal(await rest(inventoryPath(variantId)));
      expect(await dataOf(client, 'get_inventory', { variantId, locationIds: [] })).to.deep.equal(
        await rest(inventoryPath(variantId)),
      );
      expect(await dataOf(client, 'get_inventory', { variantId, locationIds: ['1003', 'nowhere'] })).to.deep.equal(
        await rest(`${inventoryPath(variantId)}?locationIds=1003&locationIds=nowhere`),
      );
      const query = { pageSize: 2, page: 2, sortBy: 'vendor', sortOrder: 'desc', vendorFilter: ['Acme', 'Other'] };
      expect(await dataOf(client, 'list_raw_materials', query)).to.deep.equal(
        await rest(`${listPath}?pageSize=2&page=2&sortBy=vendor&sortOrder=desc&vendorFilter=Acme&vendorFilter=Other`),
      );
      const history = (await dataOf(client, 'get_inventory_history', { variantId, limit: 2 })) as {
        items: { reason: string | null }[];
        nextCursor: string;
      };
      expect(history).to.deep.equal(await rest(`${inventoryPath(variantId)}/history?limit=2`));
      const { nextCursor: cursor } = history;
      const last = (await dataOf(client, 'get_inventory_history', { variantId, cursor })) as typeof history;
      expect(last.items.map(({ reason }) => reason)).to.deep.equal(['found']);
    });
  });

  it('a dry run says what would happen and applies nothing', async () => {
    const shop = await createTestShop(http.database);
    const [variantId = ''] = shop.materialIds;
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const updates = [{ locationId: '1001', delta: 4 }];
      const told = (await dataOf(client, 'adjust_inventory', { variantId, updates, dryRun: true })) as {
        results: object[];
      };
      expect(told.results[0]).to.include({ previous: 0, applied: 4, level: 4 });
      expect(await dataOf(client, 'get_inventory', { variantId })).to.include({ totalQuantity: 0 });
    });
  });
});

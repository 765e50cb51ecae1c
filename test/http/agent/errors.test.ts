import { ProtocolError } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { pino } from 'pino';
import { createAgentSurface } from '../../../api/agent/agent-surface.js';
import type { AgentSurfaceDeps } from '../../../api/agent/agent-surface.js';
import type { Caller } from '../../../api/caller.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { withLockedMaterial, withLockedTable, withoutTable } from '../../support/database/broken-storage.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useHttpService, useWorkerlessService } from '../../support/http/http-service.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';
import { call, dataOf, errorOf, withAgent } from './agent-client.js';

describe('POST /mcp: what is refused', () => {
  const http = useHttpService();
  const agentOf = ({ writeKey: key }: TestShop) => ({ baseUrl: http.baseUrl, key });
  const good = [{ locationId: '1001', delta: 1 }];

  const faulty: [name: string, args: (variantId: string) => Record<string, unknown>, paths: string[]][] = [
    ['list_raw_materials', () => ({ pageSize: 1_001, page: '2', vendor: 'x' }), ['/vendor', '/page', '/pageSize']],
    ['list_raw_materials', () => ({ search: 'x'.repeat(17_000) }), ['']],
    ['list_raw_materials', () => ({ search: 'a\u0000b' }), ['/search']],
    ['list_raw_materials', () => ({ sortBy: 'sku\u0000', sortOrder: '\u0000' }), ['/sortBy', '/sortOrder']],
    ['get_raw_material', () => ({ variantId: 'VMAT-\u0000' }), ['/variantId']],
    ['get_raw_material', () => ({}), ['/variantId']],
    ['get_raw_material', () => ({ variantId: 'gid://shopify/ProductVariant/1' }), ['/variantId']],
    ['get_raw_material', (variantId) => ({ variantId, includeConnections: 'yes' }), ['/includeConnections']],
    ['get_inventory', (variantId) => ({ variantId, locationIds: '1001' }), ['/locationIds']],
    ['get_inventory_history', (variantId) => ({ variantId, cursor: 'x' }), ['/cursor']],
    ['get_inventory_history', (variantId) => ({ variantId, limit: 0, from: 'soon' }), ['/limit', '/from']],
    ['update_raw_material', (variantId) => ({ variantId }), ['/changes']],
    ['update_raw_material', (variantId) => ({ variantId, changes: { unitcost: 1 } }), ['/changes/unitcost']],
    ['update_raw_material', (variantId) => ({ variantId, changes: { unitCost: '1' } }), ['/changes/unitCost']],
    ['update_raw_material', () => ({ variantId: '42', changes: { sku: 'S' } }), ['/variantId']],
    ['adjust_inventory', (variantId) => ({ variantId, updates: [] }), ['/updates']],
    ['adjust_inventory', (variantId) => ({ variantId, updates: [...good, { locationId: '1' }] }), ['/updates/1']],
    ['adjust_inventory', () => ({ variantId: '42', updates: good }), ['/variantId']],
    ['adjust_inventory', (variantId) => ({ variantId, updates: good, dryrun: true }), ['/dryrun']],
    ['adjust_inventory', (variantId) => ({ variantId, updates: good, idempotencyKey: 'a b' }), ['/idempotencyKey']],
  ];

  it('bad arguments are a tool error that points at every fault, and nothing is queued or stored', async () => {
    const shop = await createTestShop(http.database);
    await withAgent(agentOf(shop), async (client) => {
      for (const [name, args, paths] of faulty) {
        const error = await expectUntouched(http, shop.shopId, () =>
          errorOf(client, name, args(shop.materialIds[0] ?? ''), 'INVALID_INPUT'),
        );
        expect(error.details?.map(({ path }) => path).sort(), `${name} ${error.message}`).to.deep.equal(paths.sort());
        // A tool has arguments, and neither a body nor a query; a place in the message is the place in the details.
        expect(error.message, name).to.not.match(/\b(body|query)\b/);
        const [, place] = / at (\/\S*): /.exec(error.message) ?? [];
        if (place !== undefined) expect(place, error.message).to.equal(paths[0]);
        // Nor an address in which a plus is escaped: an agent would send `%2B`.
        expect(JSON.stringify(error), name).to.not.include('%2B');
      }
      const { message } = await errorOf(client, 'get_raw_material', {}, 'INVALID_INPUT');
      expect(message).to.equal('The call has a fault at /variantId: Is required.');
      for (const idempotencyKey of ['a b', 'x'.repeat(256)]) {
        const badKey = { variantId: shop.materialIds[0], updates: good, idempotencyKey };
        const { details } = await errorOf(client, 'adjust_inventory', badKey, 'INVALID_INPUT');
        expect(details?.[0]?.message).to.equal('Must be 1 to 255 visible ASCII characters.');
      }
    });
  });

  it('a page of the list has at most a hundred materials, and the refusal says so', async () => {
    const shop = await createTestShop(http.database);
    await withAgent(agentOf(shop), async (client) => {
      const { details } = await errorOf(client, 'list_raw_materials', { pageSize: 101 }, 'INVALID_INPUT');
      expect(details).to.deep.equal([{ path: '/pageSize', message: 'Must be at most 100.' }]);
      const { tools } = await client.listTools();
      const list = tools.find(({ name }) => name === 'list_raw_materials');
      expect(list?.inputSchema.properties?.['pageSize']).to.include({ minimum: 1, maximum: 100, default: 50 });
      expect(list?.inputSchema.properties?.['pageSize'])
        .to.have.property('description')
        .that.contains(' 1 MiB of text');
      expect(await dataOf(client, 'list_raw_materials', { pageSize: 100 })).to.include({
        pageSize: 100,
        totalCount: 1,
      });
    });
  });

  it('a total that cannot be booked points into the arguments as well, though only the worker finds it', async () => {
    const shop = await createTestShop(http.database);
    const [variantId = ''] = shop.materialIds;
    await withAgent(agentOf(shop), async (client) => {
      await dataOf(client, 'adjust_inventory', { variantId, updates: [{ locationId: '1002', absolute: 5 }] });
      const changes = { inventoryQuantity: 4, sku: 'S' };
      const { details } = await errorOf(client, 'update_raw_material', { variantId, changes }, 'INVALID_INPUT');
      expect(details?.map(({ path }) => path)).to.deep.equal(['/changes/inventoryQuantity']);
    });
  });

  it("an unknown material and another shop's are the same NOT_FOUND for every tool", async () => {
    const [shop, other] = [await createTestShop(http.database), await createTestShop(http.database)];
    await withAgent(agentOf(shop), async (client) => {
      for (const name of ['get_raw_material', 'get_inventory', 'get_inventory_history']) {
        const messages = [];
        for (const variantId of [other.materialIds[0], 'VMAT-VAR-unknown', 'VMAT-a:b', '987']) {
          messages.push(await errorOf(client, name, { variantId }, 'NOT_FOUND'));
        }
        expect(new Set(messages.map((error) => JSON.stringify(error))).size, name).to.equal(1);
      }
      for (const variantId of [other.materialIds[0], 'VMAT-VAR-unknown', 'VMAT-a:b']) {
        await errorOf(client, 'adjust_inventory', { variantId, updates: good }, 'NOT_FOUND');
        await errorOf(client, 'update_raw_material', { variantId, changes: { sku: 'S' } }, 'NOT_FOUND');
      }
    });
  });

  it('a batch whose rows differ is no error and says which failed; one whose rows all fail alike is', async () => {
    const shop = await createTestShop(http.database);
    const [variantId = ''] = shop.materialIds;
    const nowhere = { locationId: 'nowhere', delta: 1 };
    await withAgent(agentOf(shop), async (client) => {
      const mixed = (await dataOf(client, 'adjust_inventory', { variantId, updates: [nowhere, ...good] })) as {
        results: { error?: { code: string } }[];
      };
      expect(mixed).to.include({ okCount: 1, failedCount: 1 });
      expect(mixed.results[0]?.error?.code).to.equal('NOT_FOUND');
      const error = await errorOf(client, 'adjust_inventory', { variantId, updates: [nowhere, nowhere] }, 'NOT_FOUND');
      expect(error.details?.map(({ path }) => path)).to.deep.equal(['/updates/0', '/updates/1']);
      const stale = { locationId: '1001', delta: 1, expected: 9 };
      await errorOf(client, 'adjust_inventory', { variantId, updates: [stale] }, 'CONFLICT');
    });
  });

  it('a tool that is not there is an error of the protocol', async () => {
    const shop = await createTestShop(http.database);
    await withAgent(agentOf(shop), async (client) => {
      for (const name of ['drop_tables', 'toString', '']) {
        const refusal = await call(client, name, {}).catch((error: unknown) => error);
        expect(refusal, name).to.be.instanceOf(ProtocolError);
        expect((refusal as ProtocolError).code).to.equal(-32602);
        expect((refusal as ProtocolError).message).to.contain(`There is no tool "${name}"`);
      }
      const refusal = await call(client, 'x'.repeat(100_000), {}).catch((error: unknown) => error);
      expect((refusal as ProtocolError).message, 'of a long name only the begin').to.have.length.below(200);
    });
  });

  it('a platform that cannot be asked is UPSTREAM_ERROR, and its materials are read all the same', async () => {
    const shop = await createTestShop(http.database);
    await createMaterials(http.database, shop.shopId, [{ id: '8001', origin: 'platform', productName: 'Lamp' }]);
    await withAgent(agentOf(shop), async (client) => {
      await errorOf(client, 'get_inventory', { variantId: '8001' }, 'UPSTREAM_ERROR');
      expect(await dataOf(client, 'get_raw_material', { variantId: '8001' })).to.include({ origin: 'platform' });
      const history: unknown = await dataOf(client, 'get_inventory_history', { variantId: '8001' });
      expect(history).to.deep.equal({ items: [], nextCursor: null });
    });
  });

  it('a key that came with another call is IDEMPOTENCY_KEY_REUSED, in terms of tools', async () => {
    const shop = await createTestShop(http.database);
    const args = (delta: number) => ({
      variantId: shop.materialIds[0] ?? '',
      updates: [{ locationId: shop.locationIds[0] ?? '', delta }],
      idempotencyKey: 'once',
    });
    await withAgent(agentOf(shop), async (client) => {
      await dataOf(client, 'adjust_inventory', args(1));
      const error = await errorOf(client, 'adjust_inventory', args(2), 'IDEMPOTENCY_KEY_REUSED');
      expect(error.message)
        .to.match(/^This idempotencyKey was used with another call before\./)
        .and.not.match(/request|Idempotency-Key/);
    });
  });

  it('a fault of ours says nothing of the inside, and the next call is served', async () => {
    const shop = await createTestShop(http.database);
    const args = { variantId: shop.materialIds[0] ?? '', includeConnections: true };
    await withAgent(agentOf(shop), async (client) => {
      const error = await withoutTable(http.database, 'bills', () =>
        errorOf(client, 'get_raw_material', args, 'INTERNAL_ERROR'),
      );
      expect(error.message).not.to.match(/bills|relation|select/i);
      await dataOf(client, 'get_raw_material', args);
    });
  });

  it('a fault that the library of the protocol would answer by itself is told as any other, with its cause', async () => {
    const fault = new Error('ours');
    // The library builds the server of a message, and answers 500 where that fails.
    const caller = Object.defineProperty({ requestId: 'x' }, 'scope', {
      get: () => {
        throw fault;
      },
    });
    const services = { logger: pino({ level: 'silent' }) };
    const surface = createAgentSurface({ services } as unknown as AgentSurfaceDeps);
    const revision = '2026-07-28';
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const told = await surface({
      caller: caller as unknown as Caller,
      message: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } },
      headers: { 'mcp-protocol-version': revision, 'mcp-method': 'tools/list' },
    }).catch((error: unknown) => error);
    expect(told).to.be.instanceOf(Error).with.property('cause', fault);
  });

  it('Postgres that does not answer is SERVICE_UNAVAILABLE with the time to wait', async () => {
    const shop = await createTestShop(http.database);
    const args = { variantId: shop.materialIds[0] ?? '' };
    await http.withApi({ READ_TIMEOUT_MS: '300' }, ({ baseUrl }) =>
      withAgent({ baseUrl, key: shop.readKey }, async (client) => {
        const error = await withLockedTable(http.database, 'materials', () =>
          errorOf(client, 'get_raw_material', args, 'SERVICE_UNAVAILABLE'),
        );
        expect(error).to.include({ retryAfterSeconds: 1 });
        // A slow machine may exceed so short a time by itself for a while.
        await until(async () => (await call(client, 'get_raw_material', args)).isError !== true, {
          deadlineMs: 20_000,
          what: 'the read to be answered again',
        });
      }),
    );
  });
});

describe('POST /mcp: an outcome that is open', () => {
  const http = useHttpService();
  const adjustment = { updates: [{ locationId: '1001', delta: 2 }] };
  const key = { idempotencyKey: 'k' };
  const settledWhen = 'Ten minutes from now, once adjust_inventory answers a call with dryRun, ';

  // For a shop whose plan has no REST: what the message names must be on this surface.
  const cases: [name: string, args: object, message: RegExp][] = [
    ['adjust_inventory', { ...adjustment, ...key }, /same idempotencyKey/],
    ['adjust_inventory', adjustment, /get_inventory_history .* requestId (?<requestId>[-0-9a-f]{36}) .* Ten minutes/],
    [
      'update_raw_material',
      { changes: { inventoryQuantity: 2 } },
      /get_inventory_history .* requestId (?<requestId>\S+)/,
    ],
    ['update_raw_material', { changes: { sku: 'x' } }, /Ten minutes .* get_raw_material/],
    ['update_raw_material', { changes: { sku: 'x' }, ...key }, /same idempotencyKey/],
  ];

  it('says by which tool it is settled, and there it is', async () => {
    const { shopId, materialIds, writeKey } = await createTestShop(http.database, {
      plan: 'basic',
      materials: cases.length,
    });
    await http.withApi({ WAIT_MS: '1000' }, ({ baseUrl }) =>
      withAgent({ baseUrl, key: writeKey }, async (client) => {
        for (const [index, [name, args, message]] of cases.entries()) {
          const variantId = materialIds[index] ?? '';
          const error = await withLockedMaterial(http.database, { shopId, materialId: variantId }, () =>
            errorOf(client, name, { variantId, ...args }, 'OUTCOME_UNKNOWN'),
          );
          expect(error.message)
            .to.match(message)
            .and.not.match(/\/v1\/|\/readyz|Idempotency-Key/);
          if (!('idempotencyKey' in args)) expect(error.message).to.contain(settledWhen);
          const { requestId } = message.exec(error.message)?.groups ?? {};
          if (requestId === undefined) continue;
          const history = () => dataOf(client, 'get_inventory_history', { variantId, requestId });
          await until(async () => ((await history()) as { items: unknown[] }).items.length === 1, {
            deadlineMs: 5_000,
            what: 'what was open to show where the message says',
          });
        }
      }),
    );
  });
});

describe('POST /mcp: without workers', () => {
  const http = useWorkerlessService();

  it('a write is refused before it is queued, and says when to come again; reads go on', async () => {
    const shop = await createTestShop(http.database);
    const variantId = shop.materialIds[0] ?? '';
    await withAgent({ baseUrl: http.baseUrl, key: shop.writeKey }, async (client) => {
      const updates = [{ locationId: '1001', delta: 2 }];
      const error = await expectUntouched(http, shop.shopId, () =>
        errorOf(client, 'adjust_inventory', { variantId, updates }, 'SERVICE_UNAVAILABLE'),
      );
      expect(error).to.have.property('retryAfterSeconds').that.is.within(1, 3);
      expect(await dataOf(client, 'get_inventory', { variantId })).to.include({ totalQuantity: 0 });
    });
  });
});

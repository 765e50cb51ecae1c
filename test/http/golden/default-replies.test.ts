import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { createBill } from '../../../shared/database/bills.js';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { withFailingWrites, withLockedMaterial, withLockedTable } from '../../support/database/broken-storage.js';
import { useHttpService } from '../../support/http/http-service.js';
import { request } from '../../support/http/http.js';
import type { Answer, Asked } from '../../support/http/http.js';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { parseAnswer, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

/**
 * What a client sees that asks for nothing special: every route under every status that can be had without chance,
 * byte for byte. An opt-in feature that changes one of these is not opt-in. Where a default is meant to change, the
 * files are written anew with WRITE_GOLDEN=1 and read before they are committed.
 */
const writing = process.env['WRITE_GOLDEN'] === '1';
const folder = new URL('replies/', import.meta.url);

const bodyBytesMax = 1_048_576;
const read = 'VMAT-golden-read';
const changed = 'VMAT-golden-changed';
const adjusted = 'VMAT-golden-adjusted';
const keyed = 'VMAT-golden-keyed';
const unknown = 'VMAT-golden-unknown';

/** What is sent; the key is the shop's write key unless it says otherwise. */
const asked: Record<string, Omit<Asked, 'key'> & { as?: keyof Keys }> = {
  'list-materials-200': { path: `${listPath}?search=shown&pageSize=1`, as: 'read' },
  'list-materials-200-empty': { path: `${listPath}?search=nothing` },
  'list-materials-400': { path: `${listPath}?page=0&usageFilter=some` },
  'list-materials-405': { path: listPath, method: 'PATCH' },
  'get-material-200': { path: materialPath(read) },
  'get-material-200-connections': { path: `${materialPath(read)}?includeConnections=true` },
  'get-material-400': { path: materialPath('abc') },
  'get-material-404': { path: materialPath(unknown) },
  'update-material-200': { ...patch(materialPath(changed)), body: { sku: 'S-1', unitCost: 1.25, colour: 'red' } },
  'update-material-200-stock': { ...patch(materialPath(changed)), body: { inventoryQuantity: 7 } },
  'update-material-200-nothing': { ...patch(materialPath(read)), body: {} },
  'update-material-400': { ...patch(materialPath(read)), body: { sku: 1, unitCost: -1 } },
  'update-material-400-query': { ...patch(`${materialPath(read)}?dryRun=true`), body: {} },
  'update-material-400-platform': { ...patch(materialPath('123')), body: { sku: 'S-1' } },
  'update-material-400-json': { ...patch(materialPath(read)), body: '{"sku":}' },
  'update-material-403': { ...patch(materialPath(read)), body: {}, as: 'read' },
  'update-material-404': { ...patch(materialPath(unknown)), body: { sku: 'S-1' } },
  'update-material-413': { ...patch(materialPath(read)), body: ' '.repeat(bodyBytesMax + 1) },
  'update-material-415': { ...patch(materialPath(read)), body: 'a=1', headers: { 'content-type': 'text/plain' } },
  'read-levels-200': { path: inventoryPath(read) },
  'read-levels-200-filter': { path: `${inventoryPath(read)}?locationIds=1001&locationIds=9` },
  'read-levels-400': { path: inventoryPath('abc') },
  'read-levels-404': { path: inventoryPath(unknown) },
  'read-levels-502': { path: inventoryPath('55') },
  'read-history-200': { path: `${inventoryPath(read)}/history`, as: 'read' },
  'read-history-200-page': { path: `${inventoryPath(read)}/history?limit=1&locationId=1002` },
  'read-history-200-empty': { path: `${inventoryPath('55')}/history` },
  'read-history-400': { path: `${inventoryPath(read)}/history?limit=0&from=now` },
  'read-history-404': { path: `${inventoryPath(unknown)}/history` },
  'read-history-405': { path: `${inventoryPath(read)}/history`, method: 'PATCH' },
  'adjust-inventory-200': batch(adjusted, { locationId: '1001', delta: 5 }, { locationId: '1001', delta: -9 }),
  'adjust-inventory-200-partial': batch(adjusted, { locationId: '9', delta: 1 }, { locationId: '1001', absolute: 2 }),
  'adjust-inventory-200-none-ok': batch(
    adjusted,
    { locationId: '9', delta: 1 },
    { locationId: '1002', delta: 1, expected: 4 },
  ),
  'adjust-inventory-400-rows': batch(adjusted, { locationId: '1001' }, { locationId: '', delta: 'x', unit: 'kg' }),
  'adjust-inventory-400-envelope': { ...patch(inventoryPath(adjusted)), body: { updates: [], dryRun: true } },
  'adjust-inventory-400-query': { ...batch(adjusted, { locationId: '1001', delta: 1 }, '?dryrun=true') },
  'adjust-inventory-400-platform': batch('123', { locationId: '1001', delta: 1 }),
  'adjust-inventory-404-material': batch(unknown, { locationId: '1001', delta: 1 }, { locationId: '9', delta: 1 }),
  'adjust-inventory-404-collapsed': batch(adjusted, { locationId: '8', delta: 1 }, { locationId: '9', delta: 1 }),
  'adjust-inventory-405': { path: inventoryPath(adjusted), method: 'DELETE' },
  'adjust-inventory-409': batch(adjusted, { locationId: '1003', delta: 1, expected: 3 }),
  'adjust-inventory-415': { ...patch(inventoryPath(adjusted)), body: '', headers: { 'content-type': 'text/csv' } },
  'any-401-none': { path: listPath, as: 'none' },
  'any-401-bad': { path: listPath, as: 'bad' },
  'any-403-plan': { path: listPath, as: 'basic' },
  'any-404': { path: '/v1/nothing' },
  'any-417': { path: listPath, headers: { expect: 'something' } },
  'any-429': { path: listPath, as: 'exhausted' },
  'healthz-200': { path: '/healthz', as: 'none' },
  'healthz-405': { path: '/healthz', method: 'PATCH', as: 'none' },
  'readyz-200': { path: '/readyz', as: 'none' },
};

/** Bytes that Node's parser refuses, or that no client library would send. */
const rawBytes: Record<string, string> = {
  'raw-400': 'nonsense\r\n\r\n',
  'raw-400-host': 'GET /v1/raw-materials HTTP/1.1\r\nConnection: close\r\n\r\n',
  'raw-405': 'BREW /v1/raw-materials HTTP/1.1\r\nHost: a\r\n\r\n',
  'raw-405-connect': 'CONNECT /v1/raw-materials HTTP/1.1\r\nHost: a\r\n\r\n',
  'raw-431': `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
};

const special = [
  'adjust-inventory-200-replayed',
  'adjust-inventory-422',
  'adjust-inventory-500',
  'adjust-inventory-504',
  'get-material-503',
];

interface Keys {
  read: string;
  write: string;
  basic: string;
  exhausted: string;
  bad: string;
  none: undefined;
}

describe('the default replies', () => {
  const http = useHttpService();
  let shop: TestShop;
  let keys: Keys;

  before(async () => {
    const materialIds = [changed, adjusted, keyed];
    shop = await createTestShop(http.database, { materialIds });
    const shown = { productName: 'Shown', vendor: 'Golden & Söhne', unitCost: 0.1 };
    await createMaterials(http.database, shop.shopId, [
      { id: read, origin: 'virtual', ...shown },
      { id: '55', origin: 'platform', productName: 'Mirrored', mirroredQuantity: 4_000_000 },
    ]);
    const components = [{ materialId: read, quantity: 2_500_000 }];
    await createBill(http.database, shop.shopId, { id: 'b', kind: 'bill_of_materials', name: 'Table', components });
    const basic = await createTestShop(http.database, { plan: 'basic' });
    const exhausted = await createTestShop(http.database, { rateLimitPoints: 1 });
    keys = {
      read: shop.readKey,
      write: shop.writeKey,
      basic: basic.readKey,
      exhausted: exhausted.readKey,
      bad: 'rmk_bad',
      none: undefined,
    };
    await request(http.baseUrl, { path: listPath, key: keys.exhausted });
    const booked = [
      { locationId: '1002', delta: 13, reason: 'delivery' },
      { locationId: '1002', absolute: 12.5, reference: 'R-1' },
    ];
    await request(http.baseUrl, { ...batch(read, ...booked), key: keys.write });
  });

  for (const [name, { as = 'write', ...one }] of Object.entries(asked)) {
    it(name, async () => {
      compare(name, await request(http.baseUrl, { ...one, key: keys[as] }));
    });
  }

  for (const [name, bytes] of Object.entries(rawBytes)) {
    it(name, async () => {
      compare(name, parseAnswer(await rawUntilClosed(http.port, bytes)));
    });
  }

  it('adjust-inventory-200-replayed and -422', async () => {
    const send = (delta: number) =>
      request(http.baseUrl, {
        ...batch(keyed, { locationId: '1001', delta }),
        key: keys.write,
        headers: { 'idempotency-key': 'golden' },
      });
    await send(1);
    compare('adjust-inventory-200-replayed', await send(1));
    compare('adjust-inventory-422', await send(2));
  });

  it('adjust-inventory-500', async () => {
    const one = { ...batch(keyed, { locationId: '1001', delta: 1 }), key: keys.write };
    await withFailingWrites(http.database, { table: 'ledger', shopId: shop.shopId }, async () => {
      compare('adjust-inventory-500', await request(http.baseUrl, one));
    });
  });

  it('adjust-inventory-504', async () => {
    const one = { ...batch(keyed, { locationId: '1001', delta: 1 }), key: keys.write };
    await http.withApi({ WAIT_MS: '1000' }, ({ baseUrl }) =>
      withLockedMaterial(http.database, { shopId: shop.shopId, materialId: keyed }, async () => {
        compare('adjust-inventory-504', await request(baseUrl, one));
      }),
    );
  });

  it('get-material-503', async () => {
    await http.withApi({ READ_TIMEOUT_MS: '300' }, ({ baseUrl }) =>
      withLockedTable(http.database, 'bills', async () => {
        compare('get-material-503', await request(baseUrl, { path: materialPath(read), key: keys.read }));
      }),
    );
  });

  it('are all there, and nothing else', () => {
    const names = [...Object.keys(asked), ...Object.keys(rawBytes), ...special].map((name) => `${name}.txt`);
    expect(readdirSync(folder).sort()).to.deep.equal(names.sort());
  });
});

function compare(name: string, answer: Answer): void {
  const file = new URL(`${name}.txt`, folder);
  const shown = render(answer);
  if (writing) writeFileSync(file, shown);
  expect(shown).to.equal(readFileSync(file, 'utf8'));
  expect(name).to.contain(`-${answer.status}`);
}

/** Replaces only what no two replies share. Content-Length stays compared, whatever the length of what is put in. */
function render({ status, headers, text }: Answer): string {
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...others } = headers;
  const lines = Object.entries(others).map(([name, value]) => `${name}: ${withoutChance(name, String(value))}`);
  return `${status}\n${lines.join('\n')}\n\n${withoutIds(text)}\n`;
}

function withoutChance(name: string, value: string): string {
  if (name === 'ratelimit') return value.replace(/\d+/g, '<n>');
  return name === 'retry-after' ? '<n>' : withoutIds(value);
}

function withoutIds(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/"(keyId|nextCursor)":"[^"]+"/g, '"$1":"<chance>"')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');
}

function patch(path: string): { method: string; path: string } {
  return { method: 'PATCH', path };
}

function batch(id: string, ...rest: (object | string)[]): { method: string; path: string; body: object } {
  const query = rest.find((one) => typeof one === 'string') ?? '';
  return { ...patch(`${inventoryPath(id)}${query}`), body: { updates: rest.filter((one) => typeof one === 'object') } };
}

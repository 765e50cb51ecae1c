import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import type { Answer } from '../../support/http/http.js';
import { request } from '../../support/http/http.js';
import { startOwnTime } from '../../support/time/own-time.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const revision = 'io.modelcontextprotocol/protocolVersion';
const envelope = {
  [revision]: '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const junk = [null, 0, -1, 1.5, 1e308, '', 'x', 'toString', true, [], [1], {}, { a: {} }, '\u0000', '\ud800'];

/** Every place of a message in turn holds every kind of junk, or nothing. */
function* spoilt(message: Record<string, unknown>): Generator<Record<string, unknown>> {
  for (const key of Object.keys(message)) {
    const { [key]: value, ...without } = message;
    yield without;
    for (const other of junk) yield { ...message, [key]: other };
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const inner of spoilt(value as Record<string, unknown>)) yield { ...message, [key]: inner };
    }
  }
}

function isToolError(text: string): boolean {
  return (JSON.parse(text) as { result: { isError?: boolean } }).result.isError === true;
}

describe('POST /mcp: hostile messages', () => {
  const http = useHttpService();
  let shop: TestShop;
  let key = '';
  let materialId = '';

  before('a shop', async () => {
    shop = await createTestShop(http.database);
    key = shop.writeKey;
    materialId = shop.materialIds[0] ?? '';
  });

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    request(http.baseUrl, { method: 'POST', path: '/mcp', key, body, headers, deadlineMs: 5_000 });

  const call = (name: string, args: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, _meta: { progressToken: 1 } },
  });
  const modern = ({ params, ...message }: ReturnType<typeof call>) => ({
    ...message,
    params: { ...params, _meta: envelope },
  });
  const modernHeaders = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'get_inventory',
  };

  it('a message spoilt in any one place is answered in time, and never as a fault of ours', async () => {
    const change = call('update_raw_material', { variantId: materialId, changes: { sku: 'S' }, idempotencyKey: 'k' });
    const adjust = call('adjust_inventory', { variantId: materialId, updates: [{ locationId: '1001', absolute: 1 }] });
    const read = call('get_inventory', { variantId: materialId, locationIds: ['1001'] });
    const initialize = {
      jsonrpc: '2.0',
      id: 'a',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    };
    const all = [
      ...[initialize, change, adjust, read].flatMap((message) => [...spoilt(message)]).map((body) => ({ body })),
      ...[...spoilt(modern(read))].map((body) => ({ body, headers: modernHeaders })),
    ];
    expect(all).to.have.length.above(500);
    for (const { body, headers } of all as { body: object; headers?: Record<string, string> }[]) {
      const { status, text, headers: answered } = await post(body, headers);
      expect(status, `${JSON.stringify(body)} → ${text}`).to.be.within(200, 404);
      expect(answered['x-request-id']).to.be.a('string');
      expect(text).not.to.match(/code\\?":\\?"(INTERNAL_ERROR|SERVICE_UNAVAILABLE|OUTCOME_UNKNOWN)|\.js:\d/);
      expect(text, 'the protocol has a code for faults of the server').not.to.contain('"code":-32603');
    }
  });

  it('params that are none of the protocol are named, each by its place', async () => {
    const initialize = { protocolVersion: 1, capabilities: {}, clientInfo: { name: 'x', 'a/b': 1 } };
    const refused: [message: object, places: string[]][] = [
      [{ method: 'initialize', params: initialize }, ['/params/protocolVersion', '/params/clientInfo/version']],
      [{ method: 'initialize' }, ['/params']],
      [{ method: 'tools/call', params: { name: 7, arguments: [] } }, ['/params/name', '/params/arguments']],
    ];
    for (const [message, places] of refused) {
      const { status, text } = await post({ jsonrpc: '2.0', id: 'a', ...message });
      expect(status, text).to.equal(200);
      const { id, error } = JSON.parse(text) as { id: string; error: { code: number; message: string } };
      expect({ id, code: error.code }, text).to.deep.equal({ id: 'a', code: -32602 });
      const [, said = ''] = /^Invalid params: (.*)$/.exec(error.message) ?? [];
      expect(said.split('; ').map((fault) => fault.split(': ')[0])).to.have.members(places);
    }
  });

  it('methods of the protocol that are not offered, and odd headers, are refused or let pass without harm', async () => {
    const methods = ['resources/list', 'prompts/get', 'tasks/list', 'logging/setLevel', 'completion/complete', 'x', ''];
    for (const method of [...methods, 'subscriptions/listen', 'server/discover', 'sampling/createMessage']) {
      for (const params of [{}, { notifications: { toolsListChanged: true }, _meta: envelope }]) {
        const message = { jsonrpc: '2.0', id: 1, method, params };
        for (const headers of [{}, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method || 'x' }]) {
          const { status, text } = await post(message, headers);
          expect(status, `${method} → ${text}`).to.be.within(200, 404);
        }
      }
    }
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const name of [
      'mcp-protocol-version',
      'mcp-session-id',
      'mcp-method',
      'mcp-name',
      'mcp-param-x',
      'last-event-id',
    ]) {
      for (const value of ['', 'x', '2026-07-28', '9999-01-01', '\u00ff', '=?base64?!?=', 'a, b']) {
        const { status, text } = await post(ping, { [name]: value });
        expect(status, `${name}: ${value} → ${text}`).to.be.within(200, 400);
      }
    }
  });

  it('a notification and an answer to nothing are taken without a body', async () => {
    for (const body of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      { jsonrpc: '2.0', id: 7, result: {} },
      { jsonrpc: '2.0', id: 7, error: { code: 1, message: 'x' } },
    ]) {
      const { status, text, headers } = await post(body);
      expect(status).to.equal(202);
      expect(text).to.equal('');
      expect(headers['content-length']).to.equal('0');
    }
  });

  const fieldsOf = (length: number) =>
    Object.fromEntries(Array.from({ length }, (_, index) => [`f${String(index)}`, 1]));

  it('junk in the arguments is refused, and not looked at once for each part of it', async () => {
    const fields = fieldsOf(900);
    const rows = Array.from({ length: 600 }, () => fieldsOf(30));
    for (const args of [
      fields,
      { variantId: materialId, changes: fields },
      { variantId: materialId, changes: { specifications: fields } },
      { variantId: materialId, updates: rows },
      { variantId: 'VMAT-'.padEnd(900_000, 'x'), changes: {} },
      { variantId: materialId, changes: {}, idempotencyKey: 'x'.repeat(900_000) },
    ]) {
      for (const name of ['update_raw_material', 'adjust_inventory', 'list_raw_materials']) {
        const passedMs = startOwnTime();
        const { status, text } = await post(call(name, args));
        // A tenth of a second on an idle machine.
        expect(passedMs(), name).to.be.below(5_000);
        expect(status).to.equal(200);
        expect(isToolError(text), name).to.equal(true);
      }
    }
  });

  it('a message of more members than any that is meant is refused before each is looked at', async () => {
    const initialize = (clientInfo: object, capabilities: object = {}) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'x', version: '1', ...clientInfo } },
    });
    const listed = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: fieldsOf(70_000) } };
    for (const message of [
      initialize({ icons: Array.from({ length: 490_000 }, () => 1) }),
      initialize({ icons: Array.from({ length: 1_000 }, () => 1) }),
      initialize({}, { experimental: fieldsOf(70_000) }),
      listed,
      call('update_raw_material', { variantId: materialId, changes: fieldsOf(60_000) }),
      call('update_raw_material', { variantId: materialId, changes: fieldsOf(1_000) }),
      call('adjust_inventory', { variantId: materialId, updates: Array.from({ length: 1_000 }, () => fieldsOf(30)) }),
    ]) {
      const passedMs = startOwnTime();
      const { status, text } = await post(message);
      // A fifth of a second on an idle machine; the library alone took half a minute for the first.
      expect(passedMs()).to.be.below(5_000);
      expect(status, text.slice(0, 200)).to.equal(400);
      expect(text).to.match(/olds more than (1000|20000) members and items/);
    }
    const { status, text } = await post(initialize({ icons: Array.from({ length: 900 }, () => 1) }));
    expect(status).to.equal(200);
    expect(text).to.match(/^.*"message":"Invalid params: .*; and \d+ more"/);
    expect(text.split('; '), 'a hundred, and how many more').to.have.length(101);
  });

  it('more fields than any argument has are one fault, at the place where they are', async () => {
    const fields = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`f${String(index)}`, 1]));
    for (const [args, path] of [
      [fields, ''],
      [{ variantId: materialId, changes: fields }, '/changes'],
    ] as const) {
      const { text } = await post(call('update_raw_material', args));
      const { result } = JSON.parse(text) as { result: { content: [{ text: string }] } };
      const { error } = JSON.parse(result.content[0].text) as { error: { details: object[] } };
      expect(error.details).to.deep.equal([{ path, message: 'Has more than 32 fields.' }]);
    }
  });

  it('names of an object’s prototype are no arguments', async () => {
    const text = JSON.stringify(call('get_raw_material', { variantId: 'P' }));
    for (const spoilt of [
      text.replace('"variantId":"P"', `"__proto__":{"variantId":"${materialId}"}`),
      text.replace('"variantId":"P"', `"constructor":{"prototype":{"variantId":"${materialId}"}}`),
    ]) {
      const { text: answer } = await post(spoilt);
      expect(isToolError(answer), spoilt).to.equal(true);
    }
  });

  it('__proto__ beside good arguments is refused, as any name that is not known, and nothing is booked', async () => {
    const good = call('adjust_inventory', {
      variantId: materialId,
      updates: [{ locationId: shop.locationIds[0], delta: 1 }],
    });
    const spoil = (message: object) => JSON.stringify(message).replace('"updates"', '"__proto__":{},"updates"');
    const answers = await expectUntouched(http, shop.shopId, async () => [
      await post(spoil(good)),
      await post(spoil(modern(good)), { ...modernHeaders, 'mcp-name': 'adjust_inventory' }),
    ]);
    for (const { text } of answers) {
      expect(isToolError(text), text).to.equal(true);
      const { result } = JSON.parse(text) as { result: { content: [{ text: string }] } };
      const { error } = JSON.parse(result.content[0].text) as { error: { details: object[] } };
      expect(error.details).to.deep.equal([{ path: '/__proto__', message: 'Is not a known field here.' }]);
    }
  });
});

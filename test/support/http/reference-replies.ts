import { requestExamples } from '../../../api/reference/request-examples.js';
import type { ErrorCode } from '../../../shared/domain/errors.js';
import { withFailingWrites, withLockedMaterial } from '../database/broken-storage.js';
import { raw } from './http.js';
import type { Answer, Asked } from './http.js';
import { ask } from './http-service.js';
import type { HttpService } from './http-service.js';
import { inventoryPath, listPath, materialPath } from './material-paths.js';
import { freezeWorkers } from '../processes/hold-workers.js';
import { connectPlatform, startScriptedPlatform } from '../shop/platform.js';
import { parseAnswer } from './raw-exchange.js';
import { createReferenceShop, glassJarId, waxBlendId } from './reference-shop.js';

/** What stands in the examples for a request's id and for a time. */
const requestIdShown = '019ab8f2-6c00-7d3a-8f21-4b5c6d7e8f90';
const timeShown = '2026-01-15T09:30:00.000Z';

/** The body of an answer, with what differs from run to run replaced: ids of requests and keys, times, a cursor. */
function shown({ text }: Answer): unknown {
  const steady = text
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, requestIdShown)
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, timeShown)
    .replaceAll(/"keyId":"\w+"/g, '"keyId":"4f9KcQ2mZx7L"')
    .replaceAll(/"nextCursor":"[\w-]+"/g, '"nextCursor":"MTc2ODQ2OTQwMDAwMC4z"');
  return JSON.parse(steady) as unknown;
}

/** The answers of the running service that the document shows as examples, by the names they have there. */
export async function captureReplies(http: HttpService): Promise<Record<string, unknown>> {
  const { readKey, writeKey } = await createReferenceShop(http.database);
  const get = async (path: string) => shown(await http.ask({ path, key: readKey }));
  const patch = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    shown(await http.ask({ method: 'PATCH', path, key: writeKey, body, headers }));
  const stockTake = await patch(inventoryPath(waxBlendId), requestExamples.stockTake.value);
  return {
    stockTaken: stockTake,
    listPage: await get(listPath),
    material: await get(materialPath(waxBlendId)),
    connectedMaterial: await get(`${materialPath(waxBlendId)}?includeConnections=true`),
    levels: await get(inventoryPath(waxBlendId)),
    reported: await patch(inventoryPath(waxBlendId), requestExamples.adjustments.value, {
      prefer: 'return=representation',
    }),
    someRowsFailed: await patch(inventoryPath(waxBlendId), requestExamples.adjustments.value),
    updatedMaterial: await patch(materialPath(waxBlendId), requestExamples.materialChanges.value),
    history: await get(`${inventoryPath(waxBlendId)}/history?locationId=70001&limit=2`),
    healthy: shown(await http.ask({ path: '/healthz' })),
    ready: shown(await http.ask({ path: '/readyz' })),
  };
}

/** As `captureReplies`, an answer for each error code. */
export async function captureErrors(http: HttpService): Promise<Record<string, unknown>> {
  const { database } = http;
  const shop = await createReferenceShop(database);
  const { readKey, writeKey } = shop;
  const inventory = inventoryPath(waxBlendId);
  const body = requestExamples.stockTake.value;
  const adjust = (more: Partial<Asked> = {}): Asked => ({
    method: 'PATCH',
    path: inventory,
    key: writeKey,
    body,
    ...more,
  });
  const basic = await createReferenceShop(database, { plan: 'basic' });
  const narrow = await createReferenceShop(database, { rateLimitPoints: 1 });
  const material = { shopId: shop.shopId, materialId: waxBlendId };
  await http.ask(adjust({ headers: { 'idempotency-key': 'count-1' } }));
  await http.ask({ path: listPath, key: narrow.readKey });
  const badRows = {
    updates: [
      { locationId: '70001', delta: -1, absolute: 5 },
      { locationId: '70002', absolute: -2 },
    ],
  };
  const stale = { updates: [{ locationId: '70001', delta: -1, expected: 70 }] };
  const answers: Partial<Record<ErrorCode, Answer>> = {
    INVALID_INPUT: await http.ask(adjust({ body: badRows })),
    UNAUTHORIZED: await http.ask({ path: listPath }),
    FORBIDDEN_SCOPE: await http.ask(adjust({ key: readKey })),
    PLAN_REQUIRED: await http.ask({ path: listPath, key: basic.readKey }),
    NOT_FOUND: await http.ask({ path: materialPath('VMAT-VAR-unknown'), key: readKey }),
    METHOD_NOT_ALLOWED: await http.ask({ method: 'DELETE', path: inventory, key: writeKey }),
    REQUEST_TIMEOUT: await tooSlow(http),
    CONFLICT: await http.ask(adjust({ body: stale })),
    PRECONDITION_FAILED: await http.ask({
      method: 'PATCH',
      path: materialPath(waxBlendId),
      key: writeKey,
      body: requestExamples.materialChanges.value,
      headers: { 'if-match': '"7"' },
    }),
    PAYLOAD_TOO_LARGE: await http.ask(adjust({ body: ' '.repeat(1_048_577) })),
    UNSUPPORTED_MEDIA_TYPE: await http.ask(adjust({ headers: { 'content-type': 'text/plain' } })),
    EXPECTATION_FAILED: await rawly(http.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n'),
    IDEMPOTENCY_KEY_REUSED: await http.ask(adjust({ body: stale, headers: { 'idempotency-key': 'count-1' } })),
    RATE_LIMITED: await http.ask({ path: listPath, key: narrow.readKey }),
    HEADERS_TOO_LARGE: await rawly(http.port, `GET / HTTP/1.1\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`),
    INTERNAL_ERROR: await withFailingWrites(database, { table: 'ledger', shopId: shop.shopId }, () =>
      http.ask(adjust({ body: { updates: [{ locationId: '70001', delta: 1 }] } })),
    ),
    UPSTREAM_ERROR: await brokenPlatform(http, shop.shopId, readKey),
    SERVICE_UNAVAILABLE: await impatiently(http, (send) => withStoppedWorker(http, () => send(adjust()))),
    OUTCOME_UNKNOWN: await impatiently(http, (send) => withLockedMaterial(database, material, () => send(adjust()))),
  };
  return Object.fromEntries(Object.entries(answers).map(([code, answer]) => [code, shown(answer)]));
}

async function rawly(port: number, bytes: string): Promise<Answer> {
  return parseAnswer(await raw(port, bytes));
}

function tooSlow(http: HttpService): Promise<Answer> {
  return http.withApi({ HEADERS_TIMEOUT_MS: '100', REQUEST_TIMEOUT_MS: '100' }, ({ port }) =>
    rawly(port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n'),
  );
}

/** Through an API that waits for an outcome only a second. */
function impatiently(http: HttpService, use: (send: (asked: Asked) => Promise<Answer>) => Promise<Answer>) {
  return http.withApi({ WAIT_MS: '1000' }, ({ baseUrl }) => use((asked) => ask(baseUrl, asked)));
}

async function withStoppedWorker<T>({ service }: HttpService, use: () => Promise<T>): Promise<T> {
  await freezeWorkers(service, service.workers);
  try {
    return await use();
  } finally {
    service.workers.forEach((worker) => worker.kill('SIGCONT'));
  }
}

async function brokenPlatform(http: HttpService, shopId: number, key: string): Promise<Answer> {
  const platform = await startScriptedPlatform((_request, response) => response.writeHead(401).end('{}'));
  try {
    await connectPlatform(http.database, shopId, platform.url);
    return await http.ask({ path: inventoryPath(glassJarId), key });
  } finally {
    await platform.stop();
  }
}

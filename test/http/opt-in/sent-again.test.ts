import { expect } from 'chai';
import { tools } from '../../../api/agent/tools.js';
import { addLocations } from '../../../shared/database/locations.js';
import type { ErrorCode } from '../../../shared/domain/errors.js';
import { queueName, queuePrefix } from '../../../shared/queue/names.js';
import { withLockedMaterial } from '../../support/database/broken-storage.js';
import { document } from '../../support/http/documented.js';
import type { Answer } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectHistory } from '../../support/http/opt-in-replies.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

const soonMsMax = 10_000;
const locationId = '1001';

describe('A write that is sent again', () => {
  const http = useHttpService();
  let shop: TestShop;
  let id: string;

  beforeEach(async () => {
    shop = await createTestShop(http.database);
    [id = ''] = shop.materialIds;
  });

  const send = (updates: object[], idempotencyKey?: string, more: { key?: string; type?: string } = {}) =>
    http.ask({
      method: 'PATCH',
      path: inventoryPath(id),
      key: more.key ?? shop.writeKey,
      body: { updates },
      headers: {
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(more.type !== undefined && { 'content-type': more.type }),
      },
    });
  const update = (body: object, headers: Record<string, string>) =>
    http.ask({ method: 'PATCH', path: materialPath(id), key: shop.writeKey, body, headers });
  const level = async () => {
    const read = await http.ask({ path: inventoryPath(id), key: shop.readKey });
    return (expectData(read, 'levels') as { totalQuantity: number }).totalQuantity;
  };
  const isReplayed = ({ headers }: Answer) => headers['idempotency-replayed'] === 'true';

  it('with absolute levels undoes what others did meanwhile, but with a key or with expected', async () => {
    const counted = { locationId, absolute: 100 };
    const sell = async () => void expectData(await send([{ locationId, delta: -3 }]), 'batch');
    for (const key of ['k', undefined]) {
      expectData(await send([counted], key), 'batch');
      await sell();
      const again = await send([counted], key);
      expectData(again, 'batch');
      expect([isReplayed(again), await level()]).to.deep.equal(key === undefined ? [false, 100] : [true, 97]);
    }
    const expecting = { ...counted, absolute: 90, expected: 100 };
    expectData(await send([expecting]), 'batch');
    await sell();
    expectError(await send([expecting]), 'CONFLICT');
    expect(await level()).to.equal(87);
  });

  it('is described as to what a key remembers, and what to do without an answer', () => {
    const { idempotencyKey } = document.components.parameters as Record<string, { description: string }>;
    expect(idempotencyKey?.description).to.contain('a 200, or a 400, 404, 409 or 412. After such a refusal');
    expect(idempotencyKey?.description).to.contain('500 and 503, which are not remembered, keep the key');
    const { description } = document['info'] as { description: string };
    expect(description).to.match(
      /An answer that never arrives is the same, and so is a 5xx, 503 too,\swithout a `code` of ours/,
    );
    expect(description).to.match(/not there after eleven minutes, once `\/readyz` answers 200,\snever will be/);
    const adjust = tools.find(({ published }) => published.name === 'adjust_inventory')!.published;
    expect(adjust.description).to.contain('Send an `idempotencyKey` with every call');
    expect(JSON.stringify(adjust.inputSchema)).to.contain('After INVALID_INPUT, NOT_FOUND or CONFLICT take a new key');
  });

  it('is said nowhere to be safe with absolute levels without the condition', () => {
    const texts = JSON.stringify([document, tools.map(({ published }) => published)]);
    const promises = [...texts.matchAll(/"[^"]*\b(?:safe|retry|retried|repeat)\b[^"]*"/gi)].map(([text]) => text);
    const ofLevels = promises.filter((text) => /absolute|target level|stock-take/i.test(text));
    expect(ofLevels).to.not.be.empty;
    for (const text of ofLevels) expect(text).to.contain('while nobody else changes');
  });

  const refusals: [code: ErrorCode, refuse: (key: string) => Promise<Answer>][] = [
    ['NOT_FOUND', (key) => send([{ locationId: '70009', delta: 1 }], key)],
    ['CONFLICT', (key) => send([{ locationId, delta: 1, expected: 9 }], key)],
    ['INVALID_INPUT', (key) => update({ inventoryQuantity: 5 }, { 'idempotency-key': key })],
    ['PRECONDITION_FAILED', (key) => update({ sku: 'S' }, { 'idempotency-key': key, 'if-match': '"2"' })],
  ];
  for (const [code, refuse] of refusals) {
    it(`is ${code} again with its key if it was carried out, and not with a new key`, async () => {
      shop = await createTestShop(http.database, { defaultLocation: false });
      [id = ''] = shop.materialIds;
      expectError(await refuse('k'), code);
      // What each of them lacked.
      await addLocations(http.database, shop.shopId, [{ id: '70009', name: 'New' }]);
      await http.database('shops').where({ id: shop.shopId }).update({ default_location_id: locationId });
      expectData(await send([{ locationId, absolute: 9 }]), 'batch');
      expectData(await update({ vendor: 'V' }, {}), 'material');
      const again = await refuse('k');
      expectError(again, code);
      expect(isReplayed(again)).to.equal(true);
      expect((await refuse('new')).status).to.equal(200);
    });
  }

  const early: [code: ErrorCode, refuse: (key: string) => Promise<Answer>][] = [
    ['INVALID_INPUT', (key) => send([{ locationId }], key)],
    ['UNAUTHORIZED', (key) => send([{ locationId, delta: 1 }], key, { key: 'none' })],
    ['FORBIDDEN_SCOPE', (key) => send([{ locationId, delta: 1 }], key, { key: shop.readKey })],
    ['UNSUPPORTED_MEDIA_TYPE', (key) => send([{ locationId, delta: 1 }], key, { type: 'text/plain' })],
  ];
  for (const [code, refuse] of early) {
    it(`is applied with its key after ${code} that was answered before that`, async () => {
      expectError(await refuse('k'), code);
      const mended = await send([{ locationId, delta: 1 }], 'k');
      expectData(mended, 'batch');
      expect(isReplayed(mended)).to.equal(false);
    });
  }

  it('need not be after its connection was lost: the history tells by its reference that it was applied', async () => {
    const from = new Date().toISOString();
    const lost = new AbortController();
    const ref = { shopId: shop.shopId, materialId: id };
    await withLockedMaterial(http.database, ref, async () => {
      const sent = fetch(new URL(inventoryPath(id), http.baseUrl), {
        method: 'PATCH',
        headers: { authorization: `Bearer ${shop.writeKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ updates: [{ locationId, delta: 2, reference: 'my-1' }] }),
        signal: lost.signal,
      }).catch((error: unknown) => error);
      const isQueued = async () => (await http.redis.keys(`${queuePrefix}:${queueName(ref)}*`)).length > 0;
      await until(isQueued, { deadlineMs: soonMsMax, what: 'the change to be queued' });
      lost.abort();
      expect(await sent).to.have.property('name', 'AbortError');
    });
    const path = `${inventoryPath(id)}/history?from=${from}`;
    const [entry] = await until(
      async () => {
        const { items } = expectHistory(await http.ask({ path, key: shop.readKey }));
        return items.length > 0 && items;
      },
      { deadlineMs: soonMsMax, what: 'the change in the history' },
    );
    expect(entry).to.include({ reference: 'my-1', applied: 2 });
  });
});

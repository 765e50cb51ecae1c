import { expect } from 'chai';
import { createMaterials } from '../../../shared/database/create-materials.js';
import type { HistoryPage } from '../../../shared/contract/history-page.js';
import { withLockedMaterial } from '../../support/database/broken-storage.js';
import { ask, useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { expectHistory } from '../../support/http/opt-in-replies.js';
import { expectError } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';
import { until } from '../../support/time/until.js';

describe('GET /v1/raw-materials/{variantId}/inventory/history: 200', () => {
  const http = useHttpService();
  let shop: TestShop;
  let id: string;

  beforeEach(async () => {
    shop = await createTestShop(http.database);
    [id = ''] = shop.materialIds;
  });

  const book = async (...updates: object[]): Promise<string> => {
    const answer = await http.ask({ method: 'PATCH', path: inventoryPath(id), key: shop.writeKey, body: { updates } });
    return String(answer.headers['x-request-id']);
  };
  const historyPath = (query: Record<string, string | number>) => {
    const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return `${inventoryPath(id)}/history?${parameters.join('&')}`;
  };
  const read = async (query: Record<string, string | number> = {}): Promise<HistoryPage> =>
    expectHistory(await http.ask({ path: historyPath(query), key: shop.readKey }));
  const shown = ({ items }: HistoryPage) =>
    items.map(({ locationId, sequence }) => `${locationId}.${sequence}`).join(' ');

  it('shows what was booked, newest first, with exactly the fields of the contract', async () => {
    const requestId = await book(
      { locationId: '1001', delta: 5, reason: 'delivery', reference: 'PO-7' },
      { locationId: '1002', absolute: 0.5 },
      { locationId: '9', delta: 1 },
      { locationId: '1001', delta: -7.000001 },
    );
    const page = await read();
    expect(page.nextCursor).to.equal(null);
    const [newest, middle, oldest] = page.items;
    const { at = '', keyId } = newest ?? {};
    expect(at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(keyId).to.equal(shop.writeKey.slice(4, 16));
    const shared = { at, keyId, channel: 'rest', requestId, operationId: requestId };
    expect(page.items).to.deep.equal([newest, middle, oldest]);
    expect(newest).to.deep.equal({
      locationId: '1001',
      sequence: 2,
      requested: { delta: -7.000001 },
      previous: 5,
      applied: -5,
      level: 0,
      clamped: true,
      reason: null,
      reference: null,
      ...shared,
    });
    expect(middle).to.deep.equal({
      locationId: '1002',
      sequence: 1,
      requested: { absolute: 0.5 },
      previous: 0,
      applied: 0.5,
      level: 0.5,
      clamped: false,
      reason: null,
      reference: null,
      ...shared,
    });
    expect(oldest).to.deep.include({ sequence: 1, requested: { delta: 5 }, reason: 'delivery', reference: 'PO-7' });
  });

  it('shows a written inventoryQuantity as what it became', async () => {
    const body = { inventoryQuantity: 4 };
    await http.ask({ method: 'PATCH', path: materialPath(id), key: shop.writeKey, body });
    const { items } = await read();
    expect(items).to.have.length(1);
    expect(items[0]).to.deep.include({ locationId: '1001', requested: { absolute: 4 }, applied: 4, level: 4 });
  });

  it('pages by its cursor, each entry once, while new ones are booked between the pages', async () => {
    for (let count = 0; count < 4; count += 1) {
      await book({ locationId: '1001', delta: 1 }, { locationId: '1002', delta: 1 }, { locationId: '1001', delta: 1 });
    }
    const whole = await read();
    expect(whole.items).to.have.length(12);
    const paged: HistoryPage['items'] = [];
    let cursor: string | null = null;
    do {
      const page = await read({ limit: 5, ...(cursor !== null && { cursor }) });
      paged.push(...page.items);
      cursor = page.nextCursor;
      await book({ locationId: '1003', delta: 1 });
    } while (cursor !== null);
    expect(paged).to.deep.equal(whole.items);
  });

  it('follows each level without a gap where two API processes write to one material at once', async () => {
    await http.withApi({}, async ({ baseUrl }) => {
      const updates = [
        { locationId: '1001', delta: 1 },
        { locationId: '1002', delta: 1 },
      ];
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          ask(index % 2 === 0 ? http.baseUrl : baseUrl, {
            method: 'PATCH',
            path: inventoryPath(id),
            key: shop.writeKey,
            body: { updates },
          }),
        ),
      );
    });
    const { items } = await read({ limit: 250 });
    for (const locationId of ['1001', '1002']) {
      const own = items.filter((item) => item.locationId === locationId);
      expect(own.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 100 }, (_, at) => 100 - at));
      for (const [index, { previous }] of own.entries()) expect(previous).to.equal(own[index + 1]?.level ?? 0);
    }
    const times = items.map(({ at }) => at);
    expect(times).to.deep.equal(times.toSorted().reverse());
  });

  it('has 50 entries unless a limit is given, and at most 250', async () => {
    await book(...Array.from({ length: 300 }, () => ({ locationId: '1001', delta: 1 })));
    expect((await read()).items).to.have.length(50);
    expect((await read({ limit: 1 })).items).to.have.length(1);
    const page = await read({ limit: 250 });
    expect(page.items).to.have.length(250);
    const rest = await read({ limit: 250, cursor: page.nextCursor ?? '' });
    expect(rest.items).to.have.length(50);
    expect(rest.nextCursor).to.equal(null);
  });

  it('filters by location, and a location without entries has none', async () => {
    await book({ locationId: '1001', delta: 1 }, { locationId: '1002', delta: 1 }, { locationId: '1001', delta: 1 });
    expect(shown(await read({ locationId: '1001' }))).to.equal('1001.2 1001.1');
    for (const locationId of ['1003', 'nowhere']) expect(await read({ locationId })).to.have.property('items').empty;
  });

  it('filters by time, both ends within, and a date is all of its day', async () => {
    for (let count = 0; count < 3; count += 1) await book({ locationId: '1001', delta: 1 });
    const [third, second, first] = (await read()).items;
    const at = second?.at ?? '';
    expect(shown(await read({ from: at, to: at }))).to.equal('1001.2');
    expect(shown(await read({ from: at }))).to.equal('1001.3 1001.2');
    expect(shown(await read({ to: at, limit: 1 }))).to.equal('1001.2');
    expect((await read({ from: '2000-01-01', to: '2000-12-31' })).items).to.be.empty;
    expect((await read({ to: third?.at.slice(0, 10) ?? '' })).items, 'to the end of that day').to.have.length(3);
    // Of the first: midnight may have come since.
    const day = first?.at.slice(0, 10) ?? '';
    expect((await read({ from: day, to: new Date(Date.parse(at) + 86_400_000).toISOString() })).items).to.have.length(
      3,
    );
  });

  it('filters by request, also together with a location', async () => {
    await book({ locationId: '1001', delta: 1 });
    const requestId = await book({ locationId: '1001', delta: 2 }, { locationId: '1002', delta: 2 });
    await book({ locationId: '1001', delta: 3 });
    expect(shown(await read({ requestId }))).to.equal('1002.1 1001.2');
    expect(shown(await read({ requestId: requestId.toUpperCase() }))).to.equal('1002.1 1001.2');
    expect(shown(await read({ requestId, locationId: '1001' }))).to.equal('1001.2');
    const first = await read({ requestId, limit: 1 });
    expect(shown(first)).to.equal('1002.1');
    expect(shown(await read({ requestId, limit: 1, cursor: first.nextCursor ?? '' }))).to.equal('1001.2');
    expect((await read({ requestId: '00000000-0000-7000-8000-000000000000' })).items).to.be.empty;
  });

  it('settles an OUTCOME_UNKNOWN: what it shows of the request is applied', async () => {
    const requestId = await http.withApi({ WAIT_MS: '1000' }, ({ baseUrl }) =>
      withLockedMaterial(http.database, { shopId: shop.shopId, materialId: id }, async () => {
        const body = { updates: [{ locationId: '1001', delta: 5 }] };
        const answer = await ask(baseUrl, { method: 'PATCH', path: inventoryPath(id), key: shop.writeKey, body });
        const { message } = expectError(answer, 'OUTCOME_UNKNOWN');
        const path = /\/v1\S+/.exec(message)?.[0] ?? '';
        expect(expectHistory(await http.ask({ path, key: shop.readKey })).items).to.be.empty;
        return String(answer.headers['x-request-id']);
      }),
    );
    // Nobody holds the material any more: the worker comes back to it.
    const { items } = await until(
      async () => {
        const page = await read({ requestId });
        return page.items.length > 0 && page;
      },
      { deadlineMs: 5_000, what: 'the worker to apply what had no answer' },
    );
    expect(items[0]).to.deep.include({ requestId, applied: 5 });
  });

  it('of a material that was never booked, and of a platform material, is empty', async () => {
    await createMaterials(http.database, shop.shopId, [{ id: '77', origin: 'platform', productName: 'Mirrored' }]);
    for (const one of [id, '77']) {
      id = one;
      expect(await read()).to.deep.equal({ items: [], nextCursor: null });
    }
  });

  it('ignores parameters that it does not know', async () => {
    await book({ locationId: '1001', delta: 1 });
    expect(shown(await read({ colour: 'red' }))).to.equal('1001.1');
  });
});

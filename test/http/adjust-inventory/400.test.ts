import { expect } from 'chai';
import { createMaterials } from '../../../shared/database/create-materials.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useHttpService } from '../../support/http/http-service.js';
import { badIds, inventoryPath } from '../../support/http/material-paths.js';
import { expectData, expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const row = '{"locationId":"1001","delta":1}';
const rows = (count: number, json = row) => `{"updates":[${Array.from({ length: count }, () => json).join(',')}]}`;

/** JSON as it goes over the wire, and the paths that `details` must name. */
const envelopes: { title: string; json: string; paths: string[] }[] = [
  { title: 'no updates', json: '{}', paths: ['/updates'] },
  { title: 'updates that is no array', json: `{"updates":${row}}`, paths: ['/updates'] },
  { title: 'updates that is null', json: '{"updates":null}', paths: ['/updates'] },
  { title: 'no row', json: '{"updates":[]}', paths: ['/updates'] },
  { title: '1,001 rows', json: rows(1_001), paths: ['/updates'] },
  { title: 'a bare row', json: row, paths: ['/locationId', '/delta', '/updates'] },
  { title: 'an unrecognised field beside updates', json: `{"updates":[${row}],"dryRun":true}`, paths: ['/dryRun'] },
  { title: '__proto__ beside updates', json: `{"updates":[${row}],"__proto__":{}}`, paths: ['/__proto__'] },
  { title: 'constructor beside updates', json: `{"constructor":{},"updates":[${row}]}`, paths: ['/constructor'] },
];

/** Of one row, between braces; `paths` are relative to the row. */
const badRows: { title: string; json: string; paths: string[] }[] = [
  { title: 'both delta and absolute', json: '"locationId":"1001","delta":1,"absolute":1', paths: [''] },
  { title: 'neither delta nor absolute', json: '"locationId":"1001"', paths: [''] },
  { title: 'neither, but inherited names', json: '"locationId":"1001","toString":1', paths: ['/toString', ''] },
  { title: 'nothing at all', json: '', paths: ['/locationId', ''] },
  { title: 'no locationId', json: '"delta":1', paths: ['/locationId'] },
  ...['""', '5', 'null', '["1001"]', '{}', '"a\\u0000"', '"\\ud800"', `"${'x'.repeat(256)}"`].map((json) => {
    return {
      title: `locationId: ${json.slice(0, 20)}`,
      json: `"locationId":${json},"delta":1`,
      paths: ['/locationId'],
    };
  }),
  ...['"1"', 'null', 'true', '[1]', '{}', '1e400', '-1e400', '1000000000.1', '-1e10'].map((json) => {
    return { title: `delta: ${json}`, json: `"locationId":"1001","delta":${json}`, paths: ['/delta'] };
  }),
  ...['"1"', 'null', 'true', '[1]', '1e400', '-1', '-0.000001', '1e10'].map((json) => {
    return { title: `absolute: ${json}`, json: `"locationId":"1001","absolute":${json}`, paths: ['/absolute'] };
  }),
  ...['"VMAT-VAR-other"', '5', 'null', '""'].map((json) => {
    return {
      title: `variantId: ${json}`,
      json: `"locationId":"1001","delta":1,"variantId":${json}`,
      paths: ['/variantId'],
    };
  }),
  ...['"5"', 'null', '9e9', '1e400'].map((json) => {
    return {
      title: `expected: ${json}`,
      json: `"locationId":"1001","delta":1,"expected":${json}`,
      paths: ['/expected'],
    };
  }),
  ...['5', 'null', '"\\u0000"', `"${'x'.repeat(256)}"`].flatMap((json) =>
    ['reason', 'reference'].map((field) => {
      return {
        title: `${field}: ${json.slice(0, 20)}`,
        json: `"locationId":"1001","delta":1,"${field}":${json}`,
        paths: [`/${field}`],
      };
    }),
  ),
  ...['expectd', 'Delta', 'a/b~c', '__proto__', 'constructor', 'hasOwnProperty'].map((field) => {
    const step = field.replace('~', '~0').replace('/', '~1');
    return {
      title: `an unrecognised ${field}`,
      json: `"locationId":"1001","delta":1,"${field}":1`,
      paths: [`/${step}`],
    };
  }),
];

describe('PATCH /v1/raw-materials/{variantId}/inventory: 400', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
    await createMaterials(http.database, shop.shopId, [{ id: '4711', origin: 'platform', productName: 'Lamp' }]);
  });

  /** Refused with these paths in `details`, nothing queued, nothing stored. */
  async function refuse(asked: { id?: string; query?: string; body: unknown }, paths: string[]): Promise<void> {
    const { id = shop.materialIds[0]!, query = '', body } = asked;
    const path = inventoryPath(id) + query;
    const answer = await expectUntouched(http, shop.shopId, () =>
      http.ask({ method: 'PATCH', path, key: shop.writeKey, body }),
    );
    expectFaults(answer, paths);
  }

  for (const { title, json, paths } of envelopes) {
    it(`a body with ${title}`, () => refuse({ body: json }, paths));
  }

  for (const { title, json, paths } of badRows) {
    it(`a row with ${title} fails the request, the good rows with it`, async () => {
      const named = paths.map((path) => `/updates/1${path}`);
      await refuse({ body: `{"updates":[${row},{${json}},${row}]}` }, named);
    });
  }

  for (const json of ['null', '5', '"x"', '[]', 'true']) {
    it(`a row that is ${json}`, () => refuse({ body: `{"updates":[${row},${json}]}` }, ['/updates/1']));
  }

  it('every bad row is named, so that the client can mend and send the whole batch again', async () => {
    const body = { updates: [{ locationId: '', delta: '1' }, { locationId: '1001', delta: 1 }, {}, 7] };
    await refuse({ body }, [
      '/updates/0/locationId',
      '/updates/0/delta',
      '/updates/2/locationId',
      '/updates/2',
      '/updates/3',
    ]);
  });

  it('a thousand bad rows are all named, in an answer of bounded size', async () => {
    await refuse(
      { body: rows(1_000, '{"locationId":"1001"}') },
      Array.from({ length: 1_000 }, (_, index) => `/updates/${index}`),
    );
  });

  for (const id of ['4711', '4712', '0', '12345678901234567890']) {
    it(`${id} is the platform's, whether or not it exists`, () => refuse({ id, body: rows(1) }, ['variantId']));
  }

  for (const id of badIds) {
    it(`${id} is no id`, () => refuse({ id, body: rows(1) }, ['variantId']));
  }

  it('a write knows no query parameters: a misspelt dryRun must not commit', () =>
    refuse({ query: '?dryrun=true', body: rows(1) }, ['dryrun']));

  for (const header of ['', '""', 'a b', 'x'.repeat(256), 'ä']) {
    it(`Idempotency-Key: ${header.slice(0, 20)} is none`, async () => {
      const answer = await expectUntouched(http, shop.shopId, () =>
        http.ask({
          method: 'PATCH',
          path: inventoryPath(shop.materialIds[0]!),
          key: shop.writeKey,
          body: rows(1),
          headers: { 'idempotency-key': header },
        }),
      );
      expectFaults(answer, ['Idempotency-Key']);
    });
  }

  describe('from execution', () => {
    it('every row would leave the bounds of its level: collapsed, with the rows in details, nothing applied', async () => {
      const own = await createTestShop(http.database, { allowNegative: true });
      const asked = { method: 'PATCH', path: inventoryPath(own.materialIds[0]!), key: own.writeKey };
      const full = Array.from({ length: 8 }, () => ({ locationId: '1001', delta: 1e9 }));
      expectData(await http.ask({ ...asked, body: { updates: full } }), 'batch');
      const over = [
        { locationId: '1001', delta: 0.000001 },
        { locationId: '1002', delta: 1 },
      ];
      const answer = await http.ask({ ...asked, body: { updates: over } });
      expectFaults(answer, ['/updates/0', '/updates/1']);
      const { message } = expectError(answer, 'INVALID_INPUT');
      expect(message).to.match(/bounds/);
      const levels = await http.ask({ path: asked.path, key: own.readKey });
      expect(expectData(levels, 'levels')).to.include({ totalQuantity: 8e9 });
    });
  });
});

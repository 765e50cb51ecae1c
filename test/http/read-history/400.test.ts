import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { badIds, inventoryPath } from '../../support/http/material-paths.js';
import { expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

describe('GET /v1/raw-materials/{variantId}/inventory/history: 400', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  const read = (id: string, query: string) =>
    http.ask({ path: `${inventoryPath(id)}/history${query}`, key: shop.readKey });

  const faults: [query: string, path: string][] = [
    ['limit=0', 'limit'],
    ['limit=251', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=5&limit=5', 'limit'],
    ['from=yesterday', 'from'],
    ['from=', 'from'],
    ['to=2026-02-30', 'to'],
    ['to=2026-01-01T00:00:00', 'to'],
    ['to=1767225600', 'to'],
    ['requestId=1', 'requestId'],
    ['locationId=', 'locationId'],
    ['locationId=%00', 'locationId'],
    ['cursor=', 'cursor'],
    ['cursor=abc', 'cursor'],
    ['cursor=%C3%A4', 'cursor'],
    // Would be a position if something had been booked then.
    [`cursor=${Buffer.from('1767225600000.1').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('1767225600000.9999999').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('1767225600000.0').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('1767225600000.00').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('1767225600000').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('1767225600000.1').toString('base64url')}%3D`, 'cursor'],
  ];

  for (const [query, path] of faults) {
    it(`names the parameter at fault: ${query}`, async () => {
      expectFaults(await read(shop.materialIds[0] ?? '', `?${query}`), [path]);
    });
  }

  it('tells a client whose + became a blank how to send it', async () => {
    const answer = await read(shop.materialIds[0] ?? '', '?from=2026-01-01T00:00:00+02:00');
    expectFaults(answer, ['from']);
    expect(answer.text).to.contain('In an address + is %2B.');
  });

  it('refuses what is no id, before anything is looked up', async () => {
    for (const id of badIds) expectError(await read(id, ''), 'INVALID_INPUT');
  });
});

import { expect } from 'chai';
import { updateShop } from '../../../shared/database/shops.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { useHttpService } from '../../support/http/http-service.js';
import { expectData, expectError } from '../../support/http/reply.js';
import { routes } from '../../support/http/routes.js';
import { createTestShop } from '../../support/shop/shop.js';
import { listPath } from '../../support/http/material-paths.js';
import { until } from '../../support/time/until.js';

describe('every route: 403', () => {
  const http = useHttpService();

  for (const { title, scope, asked } of routes) {
    it(`${title} for a shop that is not on the Enhanced plan: PLAN_REQUIRED, whatever the scope of its key`, async () => {
      const shop = await createTestShop(http.database, { plan: 'basic' });
      for (const key of [shop.readKey, shop.writeKey]) {
        const answer = await expectUntouched(http, shop.shopId, () => http.ask({ ...asked(shop), key }));
        expect(expectError(answer, 'PLAN_REQUIRED').message).to.contain('Enhanced');
        expect(answer.headers, 'the key is a good one').not.to.have.property('www-authenticate');
        expect(answer.headers).to.include.keys('ratelimit', 'ratelimit-policy');
      }
    });

    if (scope === 'write') {
      it(`${title} with a key that may only read: FORBIDDEN_SCOPE, nothing queued, nothing stored`, async () => {
        const shop = await createTestShop(http.database);
        const answer = await expectUntouched(http, shop.shopId, () => http.ask({ ...asked(shop), key: shop.readKey }));
        expectError(answer, 'FORBIDDEN_SCOPE');
        expect(answer.headers['www-authenticate']).to.equal('Bearer error="insufficient_scope", scope="write"');
      });
    } else {
      it(`${title} is for keys of both scopes: write includes read`, async () => {
        const shop = await createTestShop(http.database);
        for (const key of [shop.readKey, shop.writeKey])
          expect((await http.ask({ ...asked(shop), key })).status).to.equal(200);
      });
    }
  }

  it('a change of plan takes effect within a second', async () => {
    const shop = await createTestShop(http.database, { plan: 'basic' });
    const asked = { path: listPath, key: shop.readKey };
    expectError(await http.ask(asked), 'PLAN_REQUIRED');
    await updateShop(http.database, shop.shopId, { plan: 'enhanced' });
    const answer = await until(
      async () => {
        const later = await http.ask(asked);
        return later.status === 200 && later;
      },
      { deadlineMs: 2_000, what: 'the new plan' },
    );
    expectData(answer, 'list');
  });
});

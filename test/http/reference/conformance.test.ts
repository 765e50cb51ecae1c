import { expect } from 'chai';
import { requestExamples } from '../../../api/reference/request-examples.js';
import { expectDocumented } from '../../support/http/documented.js';
import { useHttpService } from '../../support/http/http-service.js';
import { request } from '../../support/http/http.js';
import type { Asked } from '../../support/http/http.js';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { createReferenceShop, waxBlendId } from '../../support/http/reference-shop.js';
import type { ReferenceShop } from '../../support/http/reference-shop.js';

const material = materialPath(waxBlendId);
const inventory = inventoryPath(waxBlendId);
const problem = { accept: 'application/problem+json' };
const write = { method: 'PATCH', path: inventory, body: requestExamples.adjustments.value };
const update = { method: 'PATCH', path: material, body: requestExamples.materialChanges.value };

/** What a client may ask for beyond the defaults, with the status that it then gets. */
const cases: [what: string, status: number, asked: Asked][] = [
  ['a batch with its rows reported', 200, { ...write, headers: { prefer: 'return=representation' } }],
  ['a dry run', 200, { ...write, path: `${inventory}?dryRun=true` }],
  [
    'a lenient batch',
    200,
    { ...write, body: { updates: [{ locationId: '70001', delta: 1 }, {}] }, headers: { prefer: 'handling=lenient' } },
  ],
  [
    'a lenient batch without a good row',
    400,
    { ...write, body: { updates: [{}] }, headers: { prefer: 'handling=lenient' } },
  ],
  ['a write under a key', 200, { ...write, headers: { 'idempotency-key': 'k' } }],
  ['and its replay', 200, { ...write, headers: { 'idempotency-key': 'k' } }],
  ['an update of any version', 200, { ...update, headers: { 'if-match': '*' } }],
  ['an update of a stale version', 412, { ...update, headers: { 'if-match': '"999"' } }],
  ['the same as a problem', 412, { ...update, headers: { ...problem, 'if-match': '"999"' } }],
  ['the history', 200, { path: `${inventory}/history` }],
  ['a history of nothing', 200, { path: `${inventory}/history?from=2999-01-01` }],
  ['a bad history', 400, { path: `${inventory}/history?limit=0&cursor=x` }],
  ['a page past the end', 200, { path: `${listPath}?page=9` }],
  ['a bad list as a problem', 400, { path: `${listPath}?page=0&pageSize=1001`, headers: problem }],
  ['an unknown material as a problem', 404, { path: materialPath('VMAT-x'), headers: problem }],
  ['a bad method as a problem', 405, { path: listPath, method: 'DELETE', headers: problem }],
  ['a bad body as a problem', 415, { ...write, headers: { ...problem, 'content-type': 'text/plain' } }],
  ['a bad key as a problem', 401, { path: listPath, key: 'rmk_x', headers: problem }],
  ['an unknown path', 404, { path: '/v1/nowhere' }],
  ['a readiness probe without a body', 200, { path: '/readyz', method: 'HEAD' }],
];

describe('what is answered to the opt-in features is in the OpenAPI document', () => {
  const http = useHttpService();
  let shop: ReferenceShop;

  before(async () => {
    shop = await createReferenceShop(http.database);
  });

  for (const [what, status, asked] of cases) {
    it(what, async () => {
      const answer = await request(http.baseUrl, { key: shop.writeKey, ...asked });
      expect(answer.status, answer.text).to.equal(status);
      expectDocumented(asked, answer);
    });
  }

  it('and what is not in it fails this check: a field more, another status, an unknown header', async () => {
    const answer = await request(http.baseUrl, { path: material, key: shop.readKey });
    const more = { ...answer, body: { ...(answer.body as object), more: 1 } };
    expect(() => expectDocumented({ path: material }, more)).to.throw('must NOT have additional properties');
    expect(() => expectDocumented({ path: material }, { ...answer, status: 201 })).to.throw('this status');
    const headers = { ...answer.headers, 'x-more': '1' };
    expect(() => expectDocumented({ path: material }, { ...answer, headers })).to.throw('x-more');
    const { 'x-request-id': _id, ...without } = answer.headers;
    expect(() => expectDocumented({ path: material }, { ...answer, headers: without })).to.throw('is missing');
  });
});

import { expect } from 'chai';
import { parseQuery } from '../../../api/http/query.js';
import type { RouteRequest } from '../../../api/http/route.js';
import { toolIdempotency } from '../../../api/agent/tool-idempotency.js';
import { canonicalJson } from '../../../api/operations/idempotency.js';
import { idempotencyKey, readIdempotency } from '../../../api/rest/read-idempotency.js';

const base = {
  caller: { shop: { id: 1 } },
  method: 'PATCH',
  path: '/v1/raw-materials/VMAT-1/inventory',
  query: new Map(),
  body: { updates: [{ locationId: 'A', delta: 1 }] },
  headers: { 'idempotency-key': 'k' },
} as unknown as RouteRequest;

function readWith(more: object) {
  const read = readIdempotency({ ...base, ...more });
  if (!read.ok || read.data === undefined) throw new Error('a key was expected');
  return read.data;
}

describe('an Idempotency-Key', () => {
  const keys: [header: string, key: string | undefined][] = [
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['a"b', 'a"b'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
    ['x'.repeat(256), undefined],
    ['', undefined],
    ['""', undefined],
    ['a b', undefined],
    ['a, b', undefined],
    ['é', undefined],
    ['a\tb', undefined],
  ];
  for (const [header, key] of keys) {
    it(`of ${JSON.stringify(header).slice(0, 30)} ${key === undefined ? 'is refused' : 'is taken'}`, () => {
      expect(idempotencyKey(header)).to.equal(key);
    });
  }

  it('that is none is INVALID_INPUT and names the header', () => {
    const read = readIdempotency({ ...base, headers: { 'idempotency-key': 'a b' } });
    expect(read.ok ? undefined : read.error.details?.[0]?.path).to.equal('Idempotency-Key');
  });

  it('that was not sent remembers nothing', () => {
    expect(readIdempotency({ ...base, headers: {} })).to.deep.equal({ ok: true, data: undefined });
  });

  it('is remembered for its shop, method and path', () => {
    const { scope } = readWith({});
    expect(scope).to.match(/^[0-9a-f]{64}$/);
    expect(readWith({ body: {} }).scope).to.equal(scope);
    const others = [
      { caller: { shop: { id: 2 } } },
      { path: '/v1/raw-materials/VMAT-1' },
      { headers: { 'idempotency-key': 'l' } },
    ];
    for (const other of others) expect(readWith(other).scope).to.not.equal(scope);
  });

  it('stands for the same request however its query is escaped', () => {
    const hashOf = (text: string) => {
      const query = parseQuery(text);
      return query.ok && readWith({ query: query.data }).requestHash;
    };
    expect(hashOf('dry%52un=%74rue&')).to.equal(hashOf('dryRun=true'));
    expect(hashOf('dryRun=false')).to.not.equal(hashOf('dryRun=true'));
    expect(hashOf('')).to.equal(readWith({}).requestHash);
    expect(hashOf('dryRun=false'), 'what no query means').to.equal(hashOf(''));
  });

  it('stands for the same request however its preferences are written', () => {
    const hashOf = (prefer?: string) => readWith({ headers: { ...base.headers, prefer } }).requestHash;
    const both = hashOf('return=representation, handling=lenient');
    for (const same of [
      'return=representation,handling=lenient',
      'Handling="lenient";x, RETURN=representation, respond-async',
    ]) {
      expect(hashOf(same), same).to.equal(both);
    }
    expect(hashOf('return=representation')).to.not.equal(both);
    expect(hashOf('return=minimal')).to.equal(hashOf());
  });

  it('stands for the same request however the tags of If-Match are set apart, and for no other tags', () => {
    const hashOf = (ifMatch: string) => readWith({ headers: { ...base.headers, 'if-match': ifMatch } }).requestHash;
    expect(hashOf(' "3",,"77"')).to.equal(hashOf('"3", "77"'));
    expect(hashOf(' * ')).to.equal(hashOf('*'));
    const different = ['"3"', '"77"', 'W/"3"', '*', 'no list'].map(hashOf);
    expect(new Set([...different, readWith({}).requestHash])).to.have.lengthOf(different.length + 1);
  });

  it('stands for the same request whatever the order of its members, and for no other', () => {
    const { requestHash } = readWith({});
    expect(readWith({ body: { updates: [{ delta: 1, locationId: 'A' }] } }).requestHash).to.equal(requestHash);
    const others = [
      { body: { updates: [{ locationId: 'A', delta: 2 }] } },
      { body: { updates: [{ locationId: 'A', delta: 1 }], ignored: 1 } },
      { query: new Map([['dryRun', ['true']]]) },
      { headers: { 'idempotency-key': 'k', prefer: 'return=representation' } },
      { headers: { 'idempotency-key': 'k', 'if-match': '"1"' } },
    ];
    for (const other of others) expect(readWith(other).requestHash).to.not.equal(requestHash);
  });
});

/**
 * A key is remembered for a day, and over an update too: were the sum of its scope another one, a repeat would be
 * applied twice, and were that of the request, it would be refused as another request. What may change them, and has
 * (a query, and preferences, once counted as they were written), is to be seen here.
 */
describe('what a key is remembered by', () => {
  const scope = '24027d60ac9900a725bf3508f13f91a9b432446c45e5584eedc6ca02e7905819';
  const path = '/v1/raw-materials/VMAT-VAR-1/inventory';
  const body = { updates: [{ locationId: '1001', delta: 1.5 }] };
  const headers = { 'idempotency-key': 'k-1' };

  it('is the same in every version', () => {
    const requestHash = 'db6fd2528abc6a65b137836bd762edb84920950d1c2f8b24feb8173df148d818';
    expect(readWith({ path, body, headers })).to.deep.equal({ scope, requestHash });
  });

  it('is the same in every version, with all that gives a request its meaning', () => {
    const requestHash = 'd4ff72ef192a41298e3f21142b2259c0f9d0e207d1ffa05bff4c9b75bea2133e';
    const prefer = 'return=representation, handling=lenient';
    const query = new Map([['dryRun', ['true']]]);
    const more = { query, headers: { ...headers, prefer, 'if-match': '"3", "77"' } };
    expect(readWith({ path, body, ...more })).to.deep.equal({ scope, requestHash });
  });

  it("is the same in every version, of an agent's call", () => {
    const call = { variantId: 'VMAT-VAR-1', idempotencyKey: 'k-1', ...body };
    expect(toolIdempotency('adjust_inventory', base.caller, call)).to.deep.equal({
      scope: 'ee75a2a05b3f1e7d46fb3eee6a1ce7500543b9f0f1b13cb2234b83488f90babc',
      requestHash: '8346c75e52016743f93e6ee9bca812357ccb7e8f6236c6db3d18453396b98547',
    });
  });
});

describe("an agent's idempotencyKey", () => {
  it('stands for the same call whether it says dryRun: false or nothing of it, and for no other', () => {
    const call = { variantId: 'VMAT-VAR-1', idempotencyKey: 'k-1', updates: [] };
    const hashOf = (more: object) =>
      toolIdempotency('adjust_inventory', base.caller, { ...call, ...more })?.requestHash;
    expect(hashOf({ dryRun: false })).to.equal(hashOf({}));
    expect(hashOf({ dryRun: true })).to.not.equal(hashOf({}));
  });
});

describe('canonical JSON', () => {
  it('sorts members at every level and keeps the order of arrays', () => {
    const value = JSON.parse('{"b":[{"z":1,"a":null},2,1],"a":{"__proto__":"x","A":-0}}') as unknown;
    expect(canonicalJson(value)).to.equal('{"a":{"A":0,"__proto__":"x"},"b":[{"a":null,"z":1},2,1]}');
  });
});

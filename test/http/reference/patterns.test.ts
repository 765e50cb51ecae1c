import { expect } from 'chai';
import { document } from '../../support/http/documented.js';
import { useHttpService } from '../../support/http/http-service.js';
import { request } from '../../support/http/http.js';
import type { Asked } from '../../support/http/http.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { createTestShop } from '../../support/shop/shop.js';

interface Case {
  /** Where the document has the pattern: a parameter by its name, or a field of a body. */
  name: string;
  ask: (text: string, id: string) => Asked;
  taken: string[];
  refused: string[];
}

const update = (id: string, body: object, headers = {}) => ({ method: 'PATCH', path: materialPath(id), body, headers });
const history = (id: string, from: string) => ({
  path: `${inventoryPath(id)}/history?from=${encodeURIComponent(from)}`,
});

const cases: Case[] = [
  {
    name: 'variantId',
    ask: (text) => ({ path: materialPath(encodeURIComponent(text)) }),
    taken: ['1', '12345678901234567890', '007', 'VMAT-x', 'VMAT-', 'VMAT-a:b\n', 'VMAT-ä'],
    refused: ['123456789012345678901', 'vmat-x', 'x', '1.0', '-1', '1\n', ' 1', 'gid://shopify/ProductVariant/1'],
  },
  {
    name: 'Idempotency-Key',
    ask: (text, id) => update(id, {}, { 'idempotency-key': text }),
    taken: [
      'k',
      '"k"',
      '"',
      '"k',
      'k"',
      'a"b',
      '"a"b"',
      'x'.repeat(255),
      `"${'x'.repeat(255)}"`,
      `"${'x'.repeat(254)}`,
    ],
    refused: ['""', 'a b', '"a b"', 'x'.repeat(256), `"${'x'.repeat(256)}"`, `"${'x'.repeat(255)}`, 'é'],
  },
  {
    name: 'If-Match',
    ask: (text, id) => update(id, {}, { 'if-match': text }),
    taken: ['*', '"1"', 'W/"1"', '""', '"a,b"', '"1","2"', '"1" , W/"2",', ', "1"', ',, "é",,'],
    refused: ['1', '"1', '1"', ',', '*, "1"', '"1" "2"', '"1"x', '"a b"', 'w/"1"'],
  },
  {
    name: 'from',
    ask: (text, id) => history(id, text),
    taken: ['2026-01-31', '2026-01-31T13:45Z', '2026-01-31T13:45:00+02:00', '2026-01-31T13:45:00.123456789-11:30'],
    refused: ['2026-01-31T13:45:00', '2026-01-31T', '2026-01-31 13:45:00Z', '2026-01-31T13:45:00 02:00', '2026-1-31'],
  },
  {
    name: 'imageUrl',
    ask: (text, id) => update(id, { imageUrl: text }),
    taken: ['http://a', 'HTTPS://A/', 'https://例え.jp/ü.png?x=#y', 'https://user:pw@a:1/'],
    refused: [
      'http://',
      'https:///a',
      'https://?a',
      'http:a',
      '//a',
      'ftp://a',
      'https://a b',
      'https://a\n',
      ' http://a',
    ],
  },
];

/** All patterns that the document has for a parameter or a field of this name. */
function patternsOf(name: string, part: unknown = document, found = new Set<string>()): Set<string> {
  if (typeof part !== 'object' || part === null) return found;
  const { name: own, schema } = part as { name?: unknown; schema?: unknown };
  const { [name]: field } = part as Record<string, unknown>;
  for (const described of [own === name ? schema : undefined, field]) {
    const { pattern } = (described ?? {}) as { pattern?: unknown };
    if (typeof pattern === 'string') found.add(pattern);
  }
  for (const inner of Object.values(part)) patternsOf(name, inner, found);
  return found;
}

describe('the patterns of the OpenAPI document', () => {
  const http = useHttpService();

  for (const { name, ask, taken, refused } of cases) {
    it(`of ${name} take what the service takes, and no other form of it`, async () => {
      const { materialIds, writeKey: key } = await createTestShop(http.database);
      const patterns = [...patternsOf(name)].map((pattern) => new RegExp(pattern, 'u'));
      expect(patterns, 'patterns').to.not.be.empty;
      for (const text of [...taken, ...refused]) {
        const { status, text: reply } = await request(http.baseUrl, { key, ...ask(text, materialIds[0] ?? '') });
        const said = JSON.stringify(text).slice(0, 60);
        expect(status !== 400, `${said}: ${reply}`).to.equal(taken.includes(text));
        // An id of the platform's is none that can be written, and so is in the pattern of the reads alone.
        const verdicts = patterns.map((pattern) => pattern.test(text));
        expect(verdicts.some(Boolean), `${said} by the document`).to.equal(taken.includes(text));
      }
    });
  }
});

import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
import { problemSchema } from '../../../shared/contract/problem.js';
import { useHttpService } from '../../support/http/http-service.js';
import { request } from '../../support/http/http.js';
import type { Answer, Asked } from '../../support/http/http.js';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { parseAnswer, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { checkReply } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const isProblem = ajv.compile(problemSchema);
const accept = 'application/problem+json';

describe('Accept: application/problem+json', () => {
  const http = useHttpService();
  let shop: TestShop;
  let id: string;

  before(async () => {
    shop = await createTestShop(http.database);
    [id = ''] = shop.materialIds;
  });

  const patch = { method: 'PATCH', path: '' };
  const errors: [code: string, status: number, asked: () => Asked][] = [
    ['UNAUTHORIZED', 401, () => ({ path: listPath })],
    ['FORBIDDEN_SCOPE', 403, () => ({ ...patch, path: materialPath(id), key: shop.readKey, body: {} })],
    ['NOT_FOUND', 404, () => ({ path: '/v1/nothing', key: shop.readKey })],
    ['NOT_FOUND', 404, () => ({ path: materialPath('VMAT-unknown'), key: shop.readKey })],
    ['METHOD_NOT_ALLOWED', 405, () => ({ path: listPath, method: 'DELETE', key: shop.writeKey })],
    ['METHOD_NOT_ALLOWED', 405, () => ({ path: '/healthz', method: 'PATCH' })],
    ['INVALID_INPUT', 400, () => ({ ...patch, path: materialPath(id), key: shop.writeKey, body: { sku: 1 } })],
    ['INVALID_INPUT', 400, () => ({ ...patch, path: materialPath(id), key: shop.writeKey, body: '{' })],
    ['PAYLOAD_TOO_LARGE', 413, () => ({ ...patch, path: materialPath(id), key: shop.writeKey, body: ' '.repeat(2e6) })],
    ['UNSUPPORTED_MEDIA_TYPE', 415, () => ({ ...patch, path: materialPath(id), key: shop.writeKey })],
    [
      'CONFLICT',
      409,
      () => ({
        ...patch,
        path: inventoryPath(id),
        key: shop.writeKey,
        body: { updates: [{ locationId: '1001', delta: 1, expected: 4 }] },
      }),
    ],
    ['EXPECTATION_FAILED', 417, () => ({ path: listPath, headers: { expect: 'something' } })],
  ];

  for (const [code, status, asked] of errors) {
    it(`makes of ${code} a problem that says the same, with the same headers`, async () => {
      const one = asked();
      const plain = await request(http.baseUrl, one);
      const problem = await request(http.baseUrl, { ...one, headers: { ...one.headers, accept } });
      checkReply(plain, one.method);
      expectProblem(problem, status, code);
      const { error } = plain.body as { error: { message: string; details?: unknown } };
      const { detail, details } = problem.body as { detail: string; details?: unknown };
      expect({ detail, details }).to.deep.equal({ detail: error.message, details: error.details });
      expect(Object.keys(problem.headers).sort()).to.deep.equal(Object.keys(plain.headers).sort());
    });
  }

  it('leaves a 200 as it is', async () => {
    checkReply(await request(http.baseUrl, { path: materialPath(id), key: shop.readKey, headers: { accept } }));
  });

  it('holds for what the server answers before the app, where it knows the headers', async () => {
    const head = `Host: a\r\nAccept: ${accept}\r\n`;
    const noHost = `GET ${listPath} HTTP/1.1\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`;
    expectProblem(parseAnswer(await rawUntilClosed(http.port, noHost)), 400, 'INVALID_INPUT');
    const connect = `CONNECT ${listPath} HTTP/1.1\r\n${head}\r\n`;
    expectProblem(parseAnswer(await rawUntilClosed(http.port, connect)), 405, 'METHOD_NOT_ALLOWED');
    const badChunk =
      `PATCH ${materialPath(id)} HTTP/1.1\r\n${head}Authorization: Bearer ${shop.writeKey}\r\n` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n';
    expectProblem(parseAnswer(await rawUntilClosed(http.port, badChunk)), 400, 'INVALID_INPUT');
    // A verb that the parser does not know stops it before the headers, but they are in the same packet.
    const madeUp = `BREW ${listPath} HTTP/1.1\r\n${head}\r\n`;
    expectProblem(parseAnswer(await rawUntilClosed(http.port, madeUp)), 405, 'METHOD_NOT_ALLOWED');
  });

  it('is the default for who does not name it, or likes plain JSON better', async () => {
    for (const other of ['*/*', 'application/*', 'application/json', 'text/html', `${accept};q=0`, '']) {
      checkReply(await request(http.baseUrl, { path: '/v1/nothing', key: shop.readKey, headers: { accept: other } }));
    }
    const liked = `application/json, ${accept};q=0.5`;
    checkReply(await request(http.baseUrl, { path: '/v1/nothing', key: shop.readKey, headers: { accept: liked } }));
  });
});

function expectProblem({ status, headers, body, text }: Answer, wanted: number, code: string): void {
  expect(status, text).to.equal(wanted);
  expect(headers['content-type']).to.equal(accept);
  expect(Number(headers['content-length'])).to.equal(Buffer.byteLength(text));
  expect(isProblem(body), `${text}: ${ajv.errorsText(isProblem.errors)}`).to.equal(true);
  expect(body).to.include({ status: wanted, code, requestId: headers['x-request-id'] });
}

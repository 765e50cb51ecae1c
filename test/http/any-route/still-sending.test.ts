import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { parseAnswers, sendOn } from '../../support/http/raw-exchange.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

interface Case {
  title: string;
  parts: () => readonly string[];
  /** Between two parts. */
  pauseMs: number;
  statuses: readonly number[];
}

const kib = 1_024;
const parts = (count: number, bytes: number) => Array<string>(count).fill('x'.repeat(bytes));

describe('a client that is still sending when the service ends its connection', () => {
  const http = useHttpService();
  let shop: TestShop;
  before(async () => (shop = await createTestShop(http.database)));

  const patch = () =>
    `PATCH ${inventoryPath(shop.materialIds[0] ?? '')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n` +
    'Content-Type: application/json\r\n';
  const whole = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

  const cases: Case[] = [
    {
      title: 'more behind what is no HTTP',
      parts: () => ['hello\r\n\r\n', ...parts(20, 10 * kib)],
      pauseMs: 5,
      statuses: [400],
    },
    {
      title: 'the rest of a head that is too large',
      parts: () => [`GET /healthz HTTP/1.1\r\nHost: x\r\nA: `, ...parts(20, 10 * kib)],
      pauseMs: 5,
      statuses: [431],
    },
    {
      title: 'the rest of a body that has a broken chunk',
      parts: () => [`${patch()}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, ...parts(20, 10 * kib)],
      pauseMs: 5,
      statuses: [400],
    },
    {
      title: 'what is no HTTP behind a whole request',
      parts: () => [`${whole}hello\r\n\r\n`, ...parts(20, 10 * kib)],
      pauseMs: 5,
      statuses: [200],
    },
    {
      title: 'more behind a request that was to be the last',
      parts: () => ['GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', ...parts(20, 10 * kib)],
      pauseMs: 50,
      statuses: [200],
    },
    {
      title: 'a body that is too large, over a link that takes two seconds for it',
      parts: () => [`${patch()}Content-Length: ${2_560 * kib}\r\n\r\n`, ...parts(40, 64 * kib)],
      pauseMs: 50,
      statuses: [413],
    },
    {
      title: 'a body that is too large by far',
      parts: () => [`${patch()}Content-Length: ${12 * kib * kib}\r\n\r\n`, ...parts(12, kib * kib)],
      pauseMs: 0,
      statuses: [413],
    },
  ];
  for (const { title, statuses, ...sent } of cases) {
    it(`${title}: has the whole answer, and is not reset`, async () => {
      const { text, error } = await sendOn(http.port, sent.parts(), sent.pauseMs);
      expect(error).to.equal(undefined);
      expect(parseAnswers(text).map(({ status }) => status)).to.deep.equal(statuses);
    });
  }
});

import { expect } from 'chai';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { withLockedTable } from '../../support/database/broken-storage.js';
import { expectUntouched } from '../../support/shop/footprint.js';
import { raw } from '../../support/http/http.js';
import { useHttpService } from '../../support/http/http-service.js';
import { inventoryPath, listPath, materialPath } from '../../support/http/material-paths.js';
import { parseAnswer, parseAnswers, rawUntilClosed, textUntilClosed } from '../../support/http/raw-exchange.js';
import { expectData, expectError, expectFaults } from '../../support/http/reply.js';
import { createTestShop } from '../../support/shop/shop.js';
import type { TestShop } from '../../support/shop/shop.js';

const badTexts = ['%E0%A4%A', '%00', '%ED%A0%80', '%C0%80', '%E2%82', '%zz', '%', '%%34%31'];

describe('every path: 400', () => {
  const http = useHttpService();
  let shop: TestShop;

  before(async () => {
    shop = await createTestShop(http.database);
  });

  describe('a path that is not percent-encoded UTF-8 without U+0000', () => {
    for (const text of badTexts) {
      it(`${text} in a path, known or not: nothing is queued and nothing stored`, async () => {
        for (const path of [materialPath(`VMAT-${text}`), inventoryPath(text), `/v1/${text}`]) {
          for (const method of ['GET', 'PATCH', 'DELETE']) {
            const asked = { method, path, key: shop.writeKey, ...(method === 'PATCH' && { body: {} }) };
            expectFaults(await expectUntouched(http, shop.shopId, () => http.ask(asked)), ['path']);
          }
        }
      });
    }
  });

  describe("what Node's parser refuses", () => {
    const chunked = 'Transfer-Encoding: chunked\r\n';
    const patchHead = () =>
      `PATCH ${inventoryPath(shop.materialIds[0]!)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.writeKey}\r\n` +
      'Content-Type: application/json\r\n';
    const batch = '{"updates":[{"locationId":"1001","delta":1}]}';
    const hexLength = batch.length.toString(16);

    const cases: { title: string; text: () => string }[] = [
      { title: 'what is not HTTP', text: () => 'hello\r\n\r\n' },
      { title: 'a TLS greeting', text: () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' },
      { title: 'an unknown version', text: () => `GET ${listPath} HTTP/9.9\r\nHost: x\r\n\r\n` },
      { title: 'a made-up verb whose line is cut short', text: () => `BREW ${listPath}` },
      { title: 'a made-up verb without a path', text: () => 'BREW HTTP/1.1\r\nHost: x\r\n\r\n' },
      {
        title: 'lines that end with a bare LF, whose method the path has',
        text: () => `GET ${listPath} HTTP/1.1\nHost: x\nAuthorization: Bearer ${shop.readKey}\n\n`,
      },
      { title: 'a header without a colon', text: () => `GET ${listPath} HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n` },
      { title: 'a blank before the colon', text: () => `GET ${listPath} HTTP/1.1\r\nHost : x\r\n\r\n` },
      { title: 'a NUL in a header', text: () => `GET ${listPath} HTTP/1.1\r\nHost: x\0y\r\n\r\n` },
      {
        title: 'Content-Length and Transfer-Encoding at once',
        text: () => `${patchHead()}Content-Length: 4\r\n${chunked}\r\n${hexLength}\r\n${batch}\r\n0\r\n\r\n`,
      },
      {
        title: 'two lengths',
        text: () => `${patchHead()}Content-Length: ${batch.length}\r\nContent-Length: 1\r\n\r\n${batch}`,
      },
      {
        title: 'a transfer coding besides chunked',
        text: () =>
          `${patchHead()}Transfer-Encoding: gzip, chunked\r\n\r\n${batch.length.toString(16)}\r\n${batch}\r\n0\r\n\r\n`,
      },
      { title: 'a length that is none', text: () => `${patchHead()}Content-Length: 1x\r\n\r\n${batch}` },
      { title: 'a chunk whose size is none', text: () => `${patchHead()}${chunked}\r\nzz\r\n${batch}\r\n0\r\n\r\n` },
      { title: 'a chunk longer than said', text: () => `${patchHead()}${chunked}\r\n3\r\n${batch}\r\n0\r\n\r\n` },
    ];
    for (const { title, text } of cases) {
      it(`${title}: one whole answer in our JSON, then the connection ends; nothing queued, nothing stored`, async () => {
        const answer = await expectUntouched(http, shop.shopId, async () =>
          parseAnswer(await rawUntilClosed(http.port, Buffer.from(text(), 'latin1'))),
        );
        expectError(answer, 'INVALID_INPUT');
        expect(answer.headers['connection']).to.equal('close');
        expect(Date.parse(answer.headers['date'] ?? ''), 'RFC 9110 §6.6.1').to.be.a('number').and.not.NaN;
      });
    }

    it('a body that ends before its length: nothing queued, nothing stored, and the service goes on', async () => {
      await expectUntouched(http, shop.shopId, async () => {
        const socket = connect({ port: http.port, host: '127.0.0.1' });
        socket.end(`${patchHead()}Content-Length: ${batch.length + 1}\r\n\r\n${batch}`);
        const closed = new Promise((resolve) => socket.once('close', resolve));
        socket.resume();
        await closed;
        expectData(await http.ask({ path: listPath, key: shop.readKey }), 'list');
      });
    });

    for (const tail of ['\0', 'xy']) {
      it(`behind the end of a gzip, ${JSON.stringify(tail)} and no HTTP: nothing queued, nothing stored, whatever comes of the rest`, async () => {
        const answer = await expectUntouched(http, shop.shopId, async () => {
          const body = Buffer.concat([gzipSync(batch), Buffer.from(tail)]);
          const head = `${patchHead()}Content-Encoding: gzip\r\n${chunked}\r\n${body.length.toString(16)}\r\n`;
          const socket = connect({ port: http.port, host: '127.0.0.1' });
          const text = textUntilClosed(socket);
          socket.write(Buffer.concat([Buffer.from(head), body, Buffer.from('\r\nzz\r\n')]));
          return parseAnswer(await text);
        });
        expectError(answer, 'INVALID_INPUT');
      });
    }

    it('in the body of a read of a public file: one answer, and no fault of ours in the log', async () => {
      for (const path of ['/docs', '/openapi.json']) {
        const text = await rawUntilClosed(http.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n${chunked}\r\nzz\r\n`);
        expectError(parseAnswer(text), 'INVALID_INPUT');
      }
      expectData(await http.ask({ path: '/healthz' }), 'status');
      expect(http.service.apis.flatMap((api) => api.logs()).join('\n')).to.not.contain('ERR_HTTP_HEADERS_SENT');
    });

    it('behind a whole request: that one is answered, and nothing is written behind its answer', async () => {
      const request = `GET ${listPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.readKey}\r\n\r\n`;
      const answers = parseAnswers(await rawUntilClosed(http.port, `${request}hello there\r\n\r\n`));
      expect(answers.map(({ status }) => status)).to.deep.equal([200]);
      expectData(answers[0]!, 'list');
    });

    it('in a body that the app reads: the answer tells what is left of the limit, as every one behind a key', async () => {
      const socket = connect({ port: http.port, host: '127.0.0.1' });
      const text = textUntilClosed(socket);
      // It is asked for the body behind all checks that come before it.
      const askedOn = new Promise((resolve) => socket.once('data', resolve));
      socket.write(`${patchHead()}Expect: 100-continue\r\n${chunked}\r\n`);
      await askedOn;
      socket.write('zz\r\n');
      const [goOn = '', ...rest] = (await text).split(/(?<=\r\n\r\n)/);
      expect(goOn).to.match(/^HTTP\/1\.1 100 /);
      const answer = parseAnswer(rest.join(''));
      expectError(answer, 'INVALID_INPUT');
      expect(answer.headers).to.include.keys('ratelimit', 'ratelimit-policy');
    });

    it('in a body whose request has been answered already: nothing is written behind that answer', async () => {
      const socket = connect({ port: http.port, host: '127.0.0.1' });
      const text = textUntilClosed(socket);
      const answered = new Promise((resolve) => socket.once('data', resolve));
      socket.write(`PATCH ${inventoryPath(shop.materialIds[0]!)} HTTP/1.1\r\nHost: x\r\n${chunked}\r\n`);
      await answered;
      // The answer lets go of its connection in a later turn; an exchange on another connection shows that it has.
      expectData(await http.ask({ path: '/healthz' }), 'status');
      socket.write('zz\r\n');
      expectError(parseAnswer(await text), 'UNAUTHORIZED');
    });

    it('behind several whole requests: each is answered, in their order', async () => {
      const request = (path: string) =>
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.readKey}\r\n\r\n`;
      const bytes = [listPath, '/nowhere', inventoryPath(shop.materialIds[0]!)].map(request).join('');
      const answers = parseAnswers(await rawUntilClosed(http.port, `${bytes}hello there\r\n\r\n`));
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 404, 200]);
    });
  });

  it('what is no HTTP behind a request whose answer waits for that of the one before it: both are answered', async () => {
    const socket = connect({ port: http.port, host: '127.0.0.1' });
    const text = textUntilClosed(socket);
    const list = `GET ${listPath} HTTP/1.1\r\nHost: x\r\n`;
    await withLockedTable(http.database, 'materials', async () => {
      socket.write(`${list}Authorization: Bearer ${shop.readKey}\r\n\r\n${list}\r\n`);
      // An exchange on another connection shows that what was written before it has been read.
      expectData(await http.ask({ path: '/healthz' }), 'status');
      socket.write('hello there\r\n\r\n');
      expectData(await http.ask({ path: '/healthz' }), 'status');
    });
    expect(parseAnswers(await text).map(({ status }) => status)).to.deep.equal([200, 401]);
  });

  it('a request that is no HTTP after all while it waits for the change before it: both are answered, and it never begins', async () => {
    const socket = connect({ port: http.port, host: '127.0.0.1' });
    const text = textUntilClosed(socket);
    const head = (path: string, host: string) =>
      `PATCH ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${shop.writeKey}\r\nContent-Type: application/json\r\n`;
    const path = materialPath(shop.materialIds[0]!);
    await withLockedTable(http.database, 'materials', async () => {
      socket.write(
        `${head(path, 'x')}Content-Length: 2\r\n\r\n{}${head(path, 'no host')}Transfer-Encoding: chunked\r\n\r\n`,
      );
      expectData(await http.ask({ path: '/healthz' }), 'status');
      socket.write('zz\r\n');
      expectData(await http.ask({ path: '/healthz' }), 'status');
    });
    expect(parseAnswers(await text).map(({ status }) => status)).to.deep.equal([200, 400]);
    expectData(await http.ask({ path: '/healthz' }), 'status');
  });

  it('HTTP/1.1 without a Host is refused, HTTP/1.0 without one is answered', async () => {
    const headers = `Authorization: Bearer ${shop.readKey}\r\n`;
    expectFaults(parseAnswer(await raw(http.port, `GET ${listPath} HTTP/1.1\r\n${headers}\r\n`)), ['Host']);
    expectData(parseAnswer(await raw(http.port, `GET ${listPath} HTTP/1.0\r\n${headers}\r\n`)), 'list');
  });

  for (const host of ['a b', 'a/c', 'u@a', 'a:b:c', 'a:80x', '[::1', 'a%zz', 'ä']) {
    it(`a Host that is none is refused: ${host}`, async () => {
      const text = Buffer.from(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, 'latin1');
      expectFaults(parseAnswer(await rawUntilClosed(http.port, text)), ['Host']);
    });
  }

  it('a second Host is refused, and one in any other form is taken', async () => {
    const ask = async (hosts: string[]) =>
      parseAnswer(
        await rawUntilClosed(
          http.port,
          `GET /healthz HTTP/1.1\r\n${hosts.map((host) => `hOst: ${host}\r\n`).join('')}Connection: close\r\n\r\n`,
        ),
      );
    expectFaults(await ask(['a', 'a']), ['Host']);
    for (const host of ['', 'a_b.example.', 'a:', '127.0.0.1:3000', '[::1]:80', 'xn--4ca.example', '%41']) {
      expectData(await ask([host]), 'status');
    }
  });

  it('another header that says host is no second Host', async () => {
    const text = 'GET /healthz HTTP/1.1\r\nHost: x\r\nUser-Agent: Host\r\nConnection: close\r\n\r\n';
    expectData(parseAnswer(await rawUntilClosed(http.port, text)), 'status');
  });

  // Node takes the first, and a proxy in front may have judged the last.
  it('two Authorization or Content-Type headers that differ are refused, two that are equal are taken', async () => {
    const path = inventoryPath(shop.materialIds[0]!);
    const body = '{"updates":[{"locationId":"1001","delta":1}]}';
    const ask = async (...headers: string[]) => {
      const head = [`PATCH ${path} HTTP/1.1`, 'Host: x', ...headers, `Content-Length: ${body.length}`];
      return parseAnswer(await raw(http.port, `${head.join('\r\n')}\r\n\r\n${body}`));
    };
    const key = `Authorization: Bearer ${shop.writeKey}`;
    const type = 'Content-Type: application/json';
    const refused: [name: string, headers: string[]][] = [
      ['Authorization', [key, type, `aUTHORIZATION: Bearer ${shop.readKey}`]],
      ['Authorization', [`Authorization: Basic dTpw`, type, key]],
      ['Content-Type', [type, key, 'content-type: text/plain']],
    ];
    for (const [name, headers] of refused) {
      const reply = await expectUntouched(http, shop.shopId, () => ask(...headers));
      expect(expectFaults(reply, [name])[0]?.message).to.equal(`There are two ${name} headers, and they differ.`);
    }
    expectData(await ask(key, type, key, type), 'batch');
  });
});

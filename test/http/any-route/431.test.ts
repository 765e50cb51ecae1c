import { expect } from 'chai';
import { useHttpService } from '../../support/http/http-service.js';
import { listPath } from '../../support/http/material-paths.js';
import { parseAnswer, rawUntilClosed } from '../../support/http/raw-exchange.js';
import { expectError } from '../../support/http/reply.js';

describe('every path: 431', () => {
  const http = useHttpService();
  const long = 'x'.repeat(20_000);

  const cases = [
    { title: 'a header of 20 KB', text: `GET ${listPath} HTTP/1.1\r\nHost: x\r\nX-Long: ${long}\r\n\r\n` },
    { title: 'a name of a header of 20 KB', text: `GET ${listPath} HTTP/1.1\r\nHost: x\r\n${long}: x\r\n\r\n` },
    { title: 'a path of 20 KB', text: `GET ${listPath}/${long} HTTP/1.1\r\nHost: x\r\n\r\n` },
    {
      title: 'headers of 20 KB together',
      text: `GET ${listPath} HTTP/1.1\r\nHost: x\r\n${`X-A: ${'x'.repeat(200)}\r\n`.repeat(100)}\r\n`,
    },
  ];
  for (const { title, text } of cases) {
    it(`${title}: the whole answer in our JSON, then the connection ends`, async () => {
      const answer = parseAnswer(await rawUntilClosed(http.port, text));
      expectError(answer, 'HEADERS_TOO_LARGE');
      expect(answer.headers['connection']).to.equal('close');
    });
  }
});

import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { sendReply } from '../../../api/http/envelope.js';
import { succeed } from '../../../shared/domain/errors.js';
import { outlivingBytes } from '../../support/outliving.js';

describe('the headers of an answer', () => {
  it('leave nothing behind that only a full collection finds', async () => {
    let written: object = {};
    const res = {
      req: { headers: {} },
      writeHead: (_status: number, headers: object) => {
        written = headers;
      },
      end: () => undefined,
    } as unknown as ServerResponse;
    const limit = { 'RateLimit-Policy': '"shop";q=10;w=1', RateLimit: '"shop";r=9;t=1' };
    let sent = 0;
    const seen = await outlivingBytes(10_000, () => {
      sent += 1;
      sendReply(res, { requestId: `request-${String(sent)}`, reply: { result: succeed({ sent }) }, headers: limit });
    });
    expect(Object.keys(written)).to.deep.equal([
      'Content-Type',
      'Content-Length',
      'X-Content-Type-Options',
      'X-Request-Id',
      'RateLimit-Policy',
      'RateLimit',
    ]);
    // 80 to 150 bytes are those of a step that does nothing; as a literal that begins with a spread it was 580 on Node 20.
    expect(seen).to.be.below(350);
  });
});

import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { refuseTransferCoding } from '../../../../api/http/connections/transfer-coding.js';

describe('a transfer coding', () => {
  const refused = (coding?: string) =>
    refuseTransferCoding({ headers: { 'transfer-encoding': coding } } as unknown as IncomingMessage) !== undefined;

  it('is taken where it is chunked alone, in any case (RFC 9112 §7), or none', () => {
    for (const coding of [undefined, 'chunked', 'Chunked', 'CHUNKED']) expect(refused(coding), coding).to.equal(false);
    for (const coding of ['gzip, chunked', 'identity', 'chunked, chunked', 'xchunked'])
      expect(refused(coding), coding).to.equal(true);
  });
});

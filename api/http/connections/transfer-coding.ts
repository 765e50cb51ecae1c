import type { IncomingMessage } from 'node:http';
import { refuseInput } from '../../../shared/contract/faults.js';
import type { Refusal } from '../../../shared/domain/errors.js';

/**
 * Node accepts any list that ends in `chunked` and undoes only that, so a body that a proxy would have inflated would
 * be taken as it is. Two that see different bodies in the same bytes are what request smuggling needs (RFC 9112 §6.1).
 */
export function refuseTransferCoding({ headers }: IncomingMessage): Refusal | undefined {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked' ? undefined : unknownCoding;
}

const unknownCoding = refuseInput('request', [
  { path: 'Transfer-Encoding', message: 'Of transfer codings only chunked is taken.' },
]);

import type { IncomingMessage } from 'node:http';
import { refuseInput } from '../../../shared/contract/faults.js';
import type { Refusal } from '../../../shared/domain/errors.js';

/** uri-host [ ":" port ] of RFC 3986: a name, an address, or one of IPv6 in brackets. */
const hostForm = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** RFC 9112 §3.2: HTTP/1.1 requires a Host, and no version may have several, or one that is no host. */
export function refuseHost({ headers, httpVersion, rawHeaders }: IncomingMessage): Refusal | undefined {
  if (headers.host === undefined) return httpVersion === '1.1' ? missing : undefined;
  if (!hostForm.test(headers.host)) return malformed;
  // Of several, Node silently keeps the first.
  const isHost = (text: string, index: number) => index % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host';
  return rawHeaders.filter(isHost).length > 1 ? several : undefined;
}

const refusal = (message: string) => refuseInput('request', [{ path: 'Host', message }]);

const missing = refusal('The Host header is missing.');
const malformed = refusal('The Host header is no host.');
const several = refusal('There is more than one Host header.');

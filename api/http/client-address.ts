import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { BlockList } from 'node:net';
import { isTrusted } from '../trusted-proxies.js';

/** Tells a request's address, as far as it can be believed; of an IPv6 address the network that one client has. */
export type ClientAddress = (req: IncomingMessage) => string;

/**
 * The address of the nearest hop that is not a trusted proxy: `X-Forwarded-For` is read from its end, and only as far
 * as trusted proxies wrote it (contract §5, `TRUSTED_PROXIES`). Anything that is no address ends the walk.
 */
export function createClientAddress(trusted: BlockList): ClientAddress {
  return ({ headers, socket }) => {
    let address = plain(socket.remoteAddress ?? '');
    const hops = String(headers['x-forwarded-for'] ?? '').split(',');
    while (isTrusted(trusted, address) && hops.length > 0) {
      const hop = plain(hops.pop()?.trim() ?? '');
      if (isIP(hop) === 0) break;
      address = hop;
    }
    return isIP(address) === 6 ? networkOf(address) : address;
  };
}

/**
 * The first half of an IPv6 address, which names a network (RFC 4291 §2.5.4). Whoever has such a network may send from
 * all its 2⁶⁴ addresses, so a count for each of them would bound nobody.
 */
function networkOf(address: string): string {
  const withoutZone = address.split('%')[0] ?? '';
  // One spelling of each address: lower case, and an IPv4 part as two groups.
  const { hostname } = new URL(`http://[${withoutZone}]`);
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((groups) => groups.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}

/**
 * Tells whether a trusted proxy forwarded a request, so that its connection may carry the requests of others as well.
 * The headers alone say nothing: any client can write them.
 */
export function createIsForwarded(trusted: BlockList): (req: IncomingMessage) => boolean {
  return ({ headers, socket }) =>
    (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined || headers.via !== undefined) &&
    isTrusted(trusted, socket.remoteAddress ?? '');
}

/** A socket that listens on both families shows IPv4 peers as `::ffff:192.0.2.1`. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

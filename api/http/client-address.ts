import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { BlockList } from 'node:net';
import { isTrusted } from '../trusted-proxies.js';

/** Tells a request's address, as far as it can be believed. */
export type ClientAddress = (req: IncomingMessage) => string;

/**
 * The address of the nearest hop that is not a trusted proxy: `X-Forwarded-For` is read from its end, and only as far
 * as trusted proxies wrote it (contract §5, `TRUSTED_PROXIES`). Anything that is no address ends the walk. Some proxies
 * add the client's port to it, Azure's Application Gateway for one.
 */
export function createClientAddress(trusted: BlockList): ClientAddress {
  return ({ headers, socket }) => {
    let address = plain(socket.remoteAddress ?? '');
    const hops = String(headers['x-forwarded-for'] ?? '').split(',');
    while (isTrusted(trusted, address) && hops.length > 0) {
      const hop = plain(withoutPort(hops.pop()?.trim() ?? ''));
      if (isIP(hop) === 0) break;
      address = hop;
    }
    return address;
  };
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

/** The address of `192.0.2.1:4711`, `[2001:db8::1]:4711` and `[2001:db8::1]`; any other text as it is. */
function withoutPort(hop: string): string {
  const [, v4, v6] = /^(?:([\d.]+):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/.exec(hop) ?? [];
  return v4 ?? v6 ?? hop;
}

/** A socket that listens on both families shows IPv4 peers as `::ffff:192.0.2.1`. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

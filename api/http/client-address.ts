import { isIP } from 'node:net';
import type { BlockList } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { blockListOf, familyOf } from '../trusted-proxies.js';

/** Tells a request's address, as far as it can be believed. */
export type ClientAddress = (req: IncomingMessage) => string;

/**
 * The address of the nearest hop that is not a trusted proxy: `X-Forwarded-For` is read from its end, and only as far
 * as trusted proxies wrote it (contract §5, `TRUSTED_PROXIES`). Anything that is no address ends the walk.
 *
 * @param trustedProxies addresses and CIDR ranges, checked by `trustedProxiesProblem`; empty trusts nobody
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = blockListOf(trustedProxies);
  return (req) => {
    let address = plain(req.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0) return address;
    const forwarded = req.headers['x-forwarded-for'];
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
    while (isTrusted(trusted, address) && hops.length > 0) {
      const hop = plain(hops.pop()?.trim() ?? '');
      if (isIP(hop) === 0) break;
      address = hop;
    }
    return address;
  };
}

/**
 * Tells whether a trusted proxy forwarded a request, so that its connection may carry the requests of others as well.
 * The headers alone say nothing: any client can write them.
 *
 * @param trustedProxies as above
 */
export function createIsForwarded(trustedProxies: readonly string[]): (req: IncomingMessage) => boolean {
  const trusted = blockListOf(trustedProxies);
  return ({ headers, socket }) =>
    (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined || headers.via !== undefined) &&
    isTrusted(trusted, plain(socket.remoteAddress ?? ''));
}

function isTrusted(trusted: BlockList, address: string): boolean {
  return isIP(address) !== 0 && trusted.check(address, familyOf(address));
}

/** A socket that listens on both families shows IPv4 peers as `::ffff:192.0.2.1`. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

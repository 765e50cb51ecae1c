import { isIP } from 'node:net';

/**
 * What the failures of an address are counted by: itself, or of an IPv6 address its network of 64 bits. Whoever has one
 * IPv6 address has at least that network (RFC 6177), so by address their guesses would never be stopped, and would push
 * everybody else's counts out of memory.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  // A URL writes an address in one way only, and takes no zone (`%eth0`).
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  const [before = [], after = []] = canonical.split('::').map((side) => (side === '' ? [] : side.split(':')));
  const zeros = Array.from({ length: groupsOfAddress - before.length - after.length }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, groupsOfNetwork).join(':')}::/64`;
}

const groupsOfAddress = 8;
const groupsOfNetwork = 4;

import { BlockList, isIP } from 'node:net';

/**
 * The addresses that the setting `TRUSTED_PROXIES` names; none trusts nobody.
 *
 * @throws for an entry that is neither an address nor a CIDR range
 */
export function parseTrustedProxies(text: string): BlockList {
  const list = new BlockList();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [address = '', prefix, ...more] = entry.split('/');
    const family = familyOf(address);
    if (prefix === undefined) list.addAddress(address, family);
    else if (!/^\d{1,3}$/.test(prefix) || more.length > 0) throw new RangeError('not a CIDR range');
    else if (isMapped(address) && Number(prefix) < mappedBits)
      throw new RangeError('a range beyond the IPv4 addresses');
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** What is wrong with a list of trusted proxies, as the end of a sentence about it; undefined for a good one. */
export function trustedProxiesProblem(text: string): string | undefined {
  try {
    parseTrustedProxies(text);
    return undefined;
  } catch {
    return 'must be a list of IP addresses and CIDR ranges, separated by commas';
  }
}

/** Whether an address is on the list; a text that is no address never is. */
export function isTrusted(trusted: BlockList, address: string): boolean {
  return isIP(address) !== 0 && trusted.check(address, familyOf(address));
}

/**
 * The bits before an IPv4 address that is written as an IPv6 one. A prefix counts them too: whoever writes
 * `::ffff:10.0.0.0/8` means 10.0.0.0/8, and would trust everybody.
 */
const mappedBits = 96;

function isMapped(address: string): boolean {
  return isIP(address) === 6 && mapped.check(address, 'ipv6');
}

const mapped = new BlockList();
mapped.addSubnet('::ffff:0.0.0.0', mappedBits, 'ipv6');

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

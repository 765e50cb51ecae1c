import { expect } from 'chai';
import { networkOf } from '../../../api/http/client-network.js';

describe('what the failures of an address are counted by', () => {
  it('is the address itself, where that is IPv4 or none', () => {
    for (const address of ['192.0.2.1', '', 'unix']) expect(networkOf(address)).to.equal(address);
  });

  it('is the network of 64 bits of an IPv6 address, in whatever way it is written', () => {
    for (const [address, network] of [
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['2001:DB8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
      ['2001:0db8::', '2001:db8:0:0::/64'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:db8:1:2::', '2001:db8:1:2::/64'],
      ['::a:b:c:d:198.51.100.7', '0:0:a:b::/64'],
      ['::1', '0:0:0:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ] as const) {
      expect(networkOf(address), address).to.equal(network);
    }
  });
});

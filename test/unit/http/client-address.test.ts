import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { createClientAddress, createIsForwarded } from '../../../api/http/client-address.js';
import { parseTrustedProxies, trustedProxiesProblem } from '../../../api/trusted-proxies.js';

function addressOf(trusted: string[], remoteAddress: string, forwarded?: string): string {
  const req = { socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } };
  return createClientAddress(parseTrustedProxies(trusted.join(',')))(req as unknown as IncomingMessage);
}

describe("a client's address", () => {
  it('is that of the connection where nobody is trusted, whatever the header says', () => {
    expect(addressOf([], '192.0.2.1', '198.51.100.7')).to.equal('192.0.2.1');
    expect(addressOf(['10.0.0.0/8'], '192.0.2.1', '198.51.100.7')).to.equal('192.0.2.1');
  });

  it('is the nearest hop that is no trusted proxy', () => {
    const trusted = ['10.0.0.0/8', 'fd00::/8', '203.0.113.5'];
    expect(addressOf(trusted, '10.1.1.1', '1.1.1.1, 198.51.100.7')).to.equal('198.51.100.7');
    expect(addressOf(trusted, '::ffff:10.1.1.1', '1.1.1.1, 198.51.100.7, 203.0.113.5, fd00::1')).to.equal(
      '198.51.100.7',
    );
  });

  it('of an IPv4 peer is the same whichever way it was written, so that it has one count of failures', () => {
    expect(addressOf([], '::ffff:192.0.2.1')).to.equal('192.0.2.1');
    expect(addressOf(['10.0.0.0/8'], '10.1.1.1', '::ffff:198.51.100.7')).to.equal('198.51.100.7');
  });

  it('is the last believable one where the header is cut short or is no list of addresses', () => {
    expect(addressOf(['10.0.0.0/8'], '10.1.1.1')).to.equal('10.1.1.1');
    expect(addressOf(['10.0.0.0/8'], '10.1.1.1', 'unknown')).to.equal('10.1.1.1');
    expect(addressOf(['10.0.0.0/8'], '10.1.1.1', '1.1.1.1, junk, 10.2.2.2')).to.equal('10.2.2.2');
  });

  it('is without the port that a proxy adds to it, so that all its connections have one count of failures', () => {
    for (const hop of ['198.51.100.7:4711', '198.51.100.7:80'])
      expect(addressOf(['10.0.0.0/8'], '10.1.1.1', `1.1.1.1:5, ${hop}`)).to.equal('198.51.100.7');
    for (const hop of ['[2001:db8::7]:4711', '[2001:db8::7]'])
      expect(addressOf(['10.0.0.0/8'], '10.1.1.1', `1.1.1.1:5, ${hop}`)).to.equal('2001:db8::7');
    for (const hop of ['198.51.100.7:', '198.51.100.7:123456', ':80', '[]:80', '[10.0.0.1', 'host:80'])
      expect(addressOf(['10.0.0.0/8'], '10.1.1.1', `1.1.1.1, ${hop}`), hop).to.equal('10.1.1.1');
  });

  it('list of proxies is refused where an entry is neither an address nor a range', () => {
    expect(trustedProxiesProblem('10.0.0.0/8, ::1')).to.equal(undefined);
    for (const text of ['proxy.local', '10.0.0.0/33', '10.0.0.0/x', '10.0.0']) {
      expect(trustedProxiesProblem(text), text).to.be.a('string');
    }
  });

  it('list of proxies is refused where an entry says two prefixes, or trusts everybody by a prefix that was meant for IPv4', () => {
    for (const text of [
      '10.0.0.0/8/9',
      '10.0.0.0/8/',
      '::ffff:10.0.0.0/8',
      '::FFFF:a00:0/24',
      '0:0:0:0:0:ffff:0:0/95',
    ]) {
      expect(trustedProxiesProblem(text), text).to.be.a('string');
    }
    for (const text of [
      '0.0.0.0/0',
      '::/0',
      '::ffff:0:0/96',
      '::ffff:10.0.0.0/104',
      '::ffff:10.0.0.1',
      '10.0.0.1,, 10.0.0.2,',
    ]) {
      expect(trustedProxiesProblem(text), text).to.equal(undefined);
    }
    expect(addressOf(['::ffff:10.0.0.0/104'], '10.1.1.1', '198.51.100.7')).to.equal('198.51.100.7');
    expect(addressOf(['::ffff:10.0.0.0/104'], '11.1.1.1', '198.51.100.7')).to.equal('11.1.1.1');
  });
});

describe('a request', () => {
  const isForwarded = (remoteAddress: string, headers: Record<string, string>) =>
    createIsForwarded(parseTrustedProxies('10.0.0.0/8'))({
      socket: { remoteAddress },
      headers,
    } as unknown as IncomingMessage);

  it('was forwarded where a trusted proxy says so, by whichever header, also on a socket of both families', () => {
    for (const header of ['x-forwarded-for', 'forwarded', 'via']) {
      expect(isForwarded('10.1.1.1', { [header]: 'x' }), header).to.equal(true);
      expect(isForwarded('::ffff:10.1.1.1', { [header]: 'x' }), header).to.equal(true);
      expect(isForwarded('192.0.2.1', { [header]: 'x' }), `${header} of anybody`).to.equal(false);
    }
    expect(isForwarded('10.1.1.1', {})).to.equal(false);
  });
});

import { expect } from 'chai';
import { shopEndpoint } from '../../../shared/platform/shopify/shop-endpoint.js';

describe('the address that is called for a shop', () => {
  it('is https on <name>.myshopify.com', () => {
    const wanted = 'https://demo-shop.myshopify.com/admin/api/2026-10/graphql.json';
    expect(shopEndpoint('demo-shop.myshopify.com', { allowLoopback: false })).to.equal(wanted);
  });

  it('is a port of 127.0.0.1 only where that is allowed', () => {
    const origin = 'http://127.0.0.1:4000';
    expect(shopEndpoint(origin, { allowLoopback: false })).to.equal(undefined);
    expect(shopEndpoint(origin, { allowLoopback: true })).to.equal(`${origin}/admin/api/2026-10/graphql.json`);
  });

  const refused = [
    '',
    'myshopify.com',
    '.myshopify.com',
    '-a.myshopify.com',
    'a.b.myshopify.com',
    'Demo.myshopify.com',
    'demo.myshopify.com.',
    'demo.myshopify.com.evil.example',
    'demo.myshopify.com\n',
    'demo.myshopify.com:8443',
    'demo.myshopify.com/x',
    'evil.example/demo.myshopify.com',
    'evil.example#.myshopify.com',
    'user@demo.myshopify.com',
    'https://demo.myshopify.com',
    `${'a'.repeat(64)}.myshopify.com`,
    'dёmo.myshopify.com',
    'http://localhost:4000',
    'http://127.0.0.1',
    'http://127.0.0.1:0',
    'http://127.0.0.1:65536',
    'http://127.0.0.1:4000/',
    'http://127.0.0.1:4000@evil.example',
    'http://127.0.0.2:4000',
    'http://[::1]:4000',
    'http://0.0.0.0:4000',
    'http://169.254.169.254:80',
    'https://127.0.0.1:4000',
  ];
  for (const domain of refused) {
    it(`${JSON.stringify(domain)} is refused, loopback allowed or not`, () => {
      expect(shopEndpoint(domain, { allowLoopback: true })).to.equal(undefined);
      expect(shopEndpoint(domain, { allowLoopback: false })).to.equal(undefined);
    });
  }
});

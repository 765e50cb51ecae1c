/**
 * The newest stable version on 2026-11-20, which Shopify supports until 2027-10-01. After that it answers by the oldest
 * version that it still supports, as if that had been asked for (https://shopify.dev/docs/api/usage/versioning).
 */
export const shopifyApiVersion = '2026-10';

/**
 * The GraphQL address of a shop, or undefined for a domain that is not a shop's. This is the guard against being talked
 * into calling another host with the shop's token (SSRF): only `<name>.myshopify.com` over https is ever called, and,
 * where the demo allows it, a server on 127.0.0.1.
 */
export function shopEndpoint(domain: string, options: { allowLoopback: boolean }): string | undefined {
  const path = `/admin/api/${shopifyApiVersion}/graphql.json`;
  if (shopDomain.test(domain)) return `https://${domain}${path}`;
  if (options.allowLoopback && isLoopback(domain)) return `${domain}${path}`;
  return undefined;
}

/** Whether a domain is a server on 127.0.0.1, as the demo's stand-in is, and so nobody's real shop. */
export function isLoopback(domain: string): boolean {
  const port = loopbackOrigin.exec(domain)?.[1];
  return port !== undefined && Number(port) <= portMax;
}

const shopDomain = /^[a-z0-9][a-z0-9-]{0,62}\.myshopify\.com$/;
const loopbackOrigin = /^http:\/\/127\.0\.0\.1:([1-9]\d{0,4})$/;
const portMax = 65_535;

import { timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PlatformLevel } from '../platform/commerce-platform.js';
import { shopifyApiVersion } from '../platform/shopify/shop-endpoint.js';
import { answerQuery } from './stand-in-answers.js';
import type { StandInShop, StandInVariant } from './stand-in-answers.js';

export interface StandInPlatform {
  /** `http://127.0.0.1:<port>`: what the demo shop's platform domain is set to. */
  url: string;
  port: number;
  stop(): Promise<void>;
}

/** What the stand-in takes for its access token. Not a secret: it opens nothing but made-up figures on loopback. */
export const standInAccessToken = 'stand-in-access-token';

/** The demo shop's locations, known to the stand-in and to the service by the same ids. */
export const standInLocations = [
  { id: '70001', name: 'Main warehouse' },
  { id: '70002', name: 'Workshop' },
  { id: '70003', name: 'Shop floor' },
] as const;

/** The platform variants of the demo shop; the demo data mirrors exactly these. */
export const standInVariants: readonly StandInVariant[] = [
  variant('8001', 'Soy wax flakes', '5 kg bag', 'WAX-SOY-5', 'Northfield Oils', 'bag', 38.5, 21.9, [140, 12, 3]),
  variant('8002', 'Soy wax flakes', '20 kg box', 'WAX-SOY-20', 'Northfield Oils', 'box', 129, 78.4, [36, 4]),
  variant('8003', 'Beeswax pellets', '1 kg', 'WAX-BEE-1', 'Alder & Bloom', 'bag', 24, 14.25, [58, 6]),
  variant('8004', 'Cotton wick', '50 m spool', 'WCK-COT-50', 'Threadworks', 'spool', 11.9, 5.1, [75, 20, 8]),
  variant('8005', 'Glass jar', '220 ml amber', 'JAR-220-AM', 'Clearline Glass', 'pcs', 1.8, 0.62, [4200, 310, 96]),
  variant('8006', 'Glass jar', '220 ml clear', 'JAR-220-CL', 'Clearline Glass', 'pcs', 1.7, 0.58, [3900, 0, 48]),
  variant('8007', 'Bamboo lid', '75 mm', 'LID-BAM-75', 'Clearline Glass', 'pcs', 1.2, 0.41, [5100, 260]),
  variant('8008', 'Lavender oil', '500 ml', 'OIL-LAV-500', 'Alder & Bloom', 'bottle', 46, 27.8, [22, 3]),
  variant('8009', 'Cedarwood oil', '500 ml', 'OIL-CED-500', 'Alder & Bloom', 'bottle', 33, 19.6, [17, 2]),
  variant('8010', 'Kraft box', '10 × 10 × 12 cm', 'BOX-KRA-10', 'Threadworks', 'pcs', 0.9, 0.27, [2600, 180, 40]),
  variant('8011', 'Shea butter', '5 kg tub', 'BUT-SHE-5', 'Northfield Oils', 'tub', 52, 31.5, [19]),
  // Oversold on the platform, which allows it, and a variant without any level: the two odd cases of a real shop.
  variant('8012', 'Gift ribbon', '100 m roll', 'RIB-GIF-100', 'Threadworks', 'roll', 7.5, 2.9, [-4, 1]),
  variant('8013', 'Wax dye chips', 'Sample set', 'DYE-SET', 'Alder & Bloom', 'pcs', 15, 8.2, []),
];

/**
 * A stand-in for the demo shop's commerce platform: the part of the Shopify Admin GraphQL API that the adapter uses, on
 * 127.0.0.1, over real HTTP. Rejects when the port is taken.
 */
export async function startStandInPlatform(
  options: Partial<StandInShop> & { port?: number } = {},
): Promise<StandInPlatform> {
  const { port: wantedPort = 0, variants = standInVariants, locations = standInLocations } = options;
  const server = createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    readBody(request)
      .then((body) => send(response, answer(request, body, { variants, locations })))
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(wantedPort, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the stand-in platform has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    stop: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

const requestTimeoutMs = 10_000;
const bodyBytesMax = 65_536;

interface Reply {
  status: number;
  body: object;
}

function answer(request: IncomingMessage, body: string | undefined, shop: StandInShop): Reply {
  if (request.url !== `/admin/api/${shopifyApiVersion}/graphql.json`)
    return { status: 404, body: { errors: 'Not Found' } };
  if (request.method !== 'POST') return { status: 405, body: { errors: 'Method Not Allowed' } };
  if (!isAccessToken(request.headers['x-shopify-access-token'])) {
    return { status: 401, body: { errors: '[API] Invalid API key or access token' } };
  }
  if (body === undefined) return { status: 413, body: { errors: 'Payload Too Large' } };
  const asked = parse(body);
  if (asked === undefined) return { status: 400, body: { errors: 'Bad Request' } };
  return { status: 200, body: answerQuery(shop, asked) };
}

function isAccessToken(given: string | string[] | undefined): boolean {
  const wanted = Buffer.from(standInAccessToken);
  const seen = Buffer.from(typeof given === 'string' ? given : '');
  return seen.length === wanted.length && timingSafeEqual(seen, wanted);
}

/**
 * The whole body, or undefined when it is over the limit (then read to its end all the same, so that it can be
 * answered).
 */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  }
  return bytes > bodyBytesMax ? undefined : Buffer.concat(chunks).toString('utf8');
}

function parse(body: string): { query?: unknown; variables?: unknown } | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { status, body }: Reply): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

function variant(
  id: string,
  productTitle: string,
  title: string,
  sku: string,
  vendor: string,
  unit: string,
  price: number,
  cost: number,
  quantities: readonly number[],
): StandInVariant {
  const levels = quantities.map((quantity, index): PlatformLevel => {
    const location = standInLocations[index];
    if (location === undefined) throw new Error(`variant ${id} has a level at a location that is not there`);
    return { locationId: location.id, quantity, updatedAt: '2026-01-05T08:00:00.000Z' };
  });
  return { id, productTitle, title, sku, vendor, unit, price, cost, levels };
}

import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startStandInPlatform } from '../../../shared/standalone/stand-in-platform.js';
import type { StandInVariant } from '../../../shared/standalone/stand-in-answers.js';

/** The stand-in behind a gate: its requests are counted, and the nth and those after it wait while it is shut. */
export interface GatedPlatform {
  url: string;
  readonly requests: number;
  /** From the nth request on, none is answered. */
  shutAt(nth: number): void;
  open(): void;
  stop(): Promise<void>;
}

export async function startGatedPlatform(variants: readonly StandInVariant[]): Promise<GatedPlatform> {
  const standIn = await startStandInPlatform({ variants });
  let requests = 0;
  let shutAt = Infinity;
  const server = createServer((request, response) => {
    requests += 1;
    // What is shut out is never answered: whoever asked is to be killed meanwhile.
    if (requests >= shutAt) return;
    forward(standIn.url, request)
      .then(async (answer) => response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer())))
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    get requests() {
      return requests;
    },
    shutAt: (nth) => (shutAt = nth),
    open: () => (shutAt = Infinity),
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await standIn.stop();
    },
  };
}

async function forward(url: string, request: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const token = request.headers['x-shopify-access-token'];
  return fetch(url + String(request.url), {
    method: String(request.method),
    headers: { 'content-type': 'application/json', 'x-shopify-access-token': String(token) },
    body: Buffer.concat(chunks),
  });
}

/** A catalogue of as many variants as wanted, in the order of their ids. */
export function manyVariants(count: number): StandInVariant[] {
  return Array.from({ length: count }, (_, index) => ({
    id: String(100_001 + index),
    productTitle: `Product ${String(index + 1)}`,
    title: 'Only',
    sku: `SKU-${String(index + 1)}`,
    vendor: 'Vendor',
    unit: 'pcs',
    price: 1,
    cost: 0.5,
    levels: [{ locationId: '70001', quantity: index, updatedAt: null }],
  }));
}

import nock from 'nock';
import type { PlatformEvent, PlatformShop } from '../../../shared/platform/commerce-platform.js';
import type { Clock, ShopifyLimits } from '../../../shared/platform/shopify/shopify-client.js';
import { createShopifyPlatform } from '../../../shared/platform/shopify/shopify-platform.js';

// nock takes over every client of the process as soon as it is imported: other files' servers must not go through it.
nock.restore();

/** For the suite it is called in: no request leaves the process, and each test's expected requests are its own. */
export function shutNetwork(): void {
  before(() => {
    nock.activate();
    nock.disableNetConnect();
  });
  afterEach(() => {
    nock.abortPendingRequests();
    nock.cleanAll();
  });
  after(() => {
    nock.enableNetConnect();
    nock.restore();
  });
}

export const shop: PlatformShop = { shopId: 7, domain: 'demo-shop.myshopify.com', accessToken: 'token-of-the-shop' };
export const path = '/admin/api/2026-10/graphql.json';

/** A clock that stands still but for its waits, which it remembers; half of every jitter. */
export function createFakeClock(): Clock & {
  waitsMs: number[];
  waitSignals: (AbortSignal | undefined)[];
  advance(ms: number): void;
} {
  let nowMs = 1_000_000;
  const waitsMs: number[] = [];
  const waitSignals: (AbortSignal | undefined)[] = [];
  return {
    waitsMs,
    waitSignals,
    advance(ms) {
      nowMs += ms;
    },
    nowMs: () => nowMs,
    async wait(ms, signal) {
      waitsMs.push(ms);
      waitSignals.push(signal);
      nowMs += ms;
      return Promise.resolve();
    },
    random: () => 0.5,
  };
}

/** The one time that is no clock's of the test: a process that stands still must not take nock for silent. */
const patient = { attemptTimeoutMs: 600_000, backgroundAttemptTimeoutMs: 600_000 };

/** The adapter on a fake clock, with what it reported. */
export function createSubject(limits: Partial<ShopifyLimits> = {}) {
  const clock = createFakeClock();
  const events: PlatformEvent[] = [];
  const platform = createShopifyPlatform({
    allowLoopback: false,
    clock,
    limits: { ...patient, ...limits },
    report: (event) => events.push(event),
  });
  return { clock, events, platform };
}

export interface LevelFixture {
  locationId: string;
  quantity: number;
  updatedAt?: string | null;
}

/** A reply as Shopify gives it; `next`: the cursor of a further page. */
export function levelsReply(levels: LevelFixture[], next: string | null = null) {
  const nodes = levels.map(({ locationId, quantity, updatedAt = '2026-11-01T10:00:00Z' }) => ({
    location: { id: `gid://shopify/Location/${locationId}` },
    quantities: [{ name: 'available', quantity, updatedAt }],
  }));
  const pageInfo = { hasNextPage: next !== null, endCursor: next ?? (levels.length === 0 ? null : 'last') };
  return { data: { productVariant: { inventoryItem: { inventoryLevels: { nodes, pageInfo } } } } };
}

/** Where replies to the shop's calls are prepared; each is given once, in their order. */
export function onShop() {
  return nock('https://demo-shop.myshopify.com');
}

/**
 * The commerce platform as the service sees it (contract §8). Adapters answer with values for everything a platform
 * can be expected to do wrong; they throw only for our own mistakes.
 *
 * A second platform needs more than an adapter, since what a shop is connected to is only a domain and a token: the
 * shop's platform must be stored (`shops`), and the adapter chosen by it where Shopify's is made (`api/main.ts`,
 * `worker/main.ts`, `shared/manage/platform-commands.ts`). The domain that an operator gives is judged by Shopify's rule
 * (`shared/manage/platform-options.ts`), and so is a variant's id, plain digits (`shared/domain/material-id.ts`).
 */
export interface CommercePlatform {
  /**
   * The quantity `available` of a variant at each location that has a level of it, in the platform's order (contract §2
   * "Inventory read"). A location without a level is absent: only the caller's own tables tell "nothing booked here
   * yet" (0) from "no such location". The variant id is 1–20 digits: any other, a virtual material's above all, is a
   * mistake of the caller and throws.
   */
  readLevels(shop: PlatformShop, variantId: string): Promise<PlatformResult<PlatformLevel[]>>;

  /**
   * The shop's active locations, a page a call: the first, or the one that an earlier page's `next` points to, even a
   * day later. It serves the mirror: a call may wait a minute, so that reads for somebody who waits are not throttled.
   *
   * @throws the reason of `signal`, when the caller gives up
   */
  listLocations(
    shop: PlatformShop,
    after: string | null,
    signal?: AbortSignal,
  ): Promise<PlatformResult<PlatformPage<PlatformLocation>>>;

  /** All of the shop's variants, in the order of their ids; otherwise as `listLocations`. */
  listVariants(
    shop: PlatformShop,
    after: string | null,
    signal?: AbortSignal,
  ): Promise<PlatformResult<PlatformPage<PlatformVariant>>>;
}

export interface PlatformPage<Item> {
  items: Item[];
  /** Where the next page begins; null after the last one. */
  next: string | null;
}

/** Texts are as the platform wrote them, of any length and content. */
export interface PlatformLocation {
  /** Plain digits. */
  id: string;
  name: string;
}

/** Texts are as the platform wrote them, of any length and content, money included. */
export interface PlatformVariant {
  /** Plain digits. */
  id: string;
  productTitle: string;
  /** Null for the only variant of a product, which has no name of its own. */
  title: string | null;
  sku: string | null;
  vendor: string;
  /** A decimal in the shop's currency, as text. */
  price: string;
  /** As `price`; null where it is not known or may not be seen. */
  unitCost: string | null;
  imageUrl: string | null;
  /** What is available over all locations, in whole units; may be negative. */
  inventoryQuantity: number;
}

/** What is needed to call the platform for a shop. The token is in clear here: never log this. */
export interface PlatformShop {
  shopId: number;
  /** `<name>.myshopify.com`, or for the demo's stand-in a loopback origin `http://127.0.0.1:<port>`. */
  domain: string;
  accessToken: string;
}

export interface PlatformLevel {
  /** Plain digits. */
  locationId: string;
  /** Whole units; the platform allows it to be negative. */
  quantity: number;
  /** ISO 8601 in UTC with milliseconds, or null where the platform never saw a change. */
  updatedAt: string | null;
}

export type PlatformResult<T> = { ok: true; data: T } | { ok: false; error: PlatformError };

export type PlatformError = keyof typeof platformErrorMessages;

/**
 * Every expected failure, with a sentence that may be shown to a client (contract §5: `not-found` is 404 NOT_FOUND,
 * each other one 502 UPSTREAM_ERROR).
 */
export const platformErrorMessages = {
  'not-found': 'The commerce platform does not know this variant.',
  throttled: 'The commerce platform is limiting our calls for this shop; try again shortly.',
  timeout: 'The commerce platform took too long to answer.',
  unavailable: 'The commerce platform could not be reached or failed.',
  'invalid-response': 'The commerce platform sent an answer that could not be understood.',
  'circuit-open': 'The commerce platform kept failing for this shop, so calls to it are paused for a moment.',
  unauthorized: "The commerce platform refused the shop's credentials.",
  'not-connected': 'The shop is not connected to a commerce platform.',
  'not-callable':
    "The service cannot call this shop's commerce platform as it is set up; the service's operator has to mend that.",
} as const;

/** What an operator may want to see of the calls. Holds no token and no words that the platform wrote. */
export type PlatformEvent =
  | { kind: 'attempt-failed'; shopId: number; error: PlatformError; detail: string; attempt: number }
  | { kind: 'circuit-opened' | 'circuit-closed'; shopId: number }
  /** It does not support the version of its API any more that the adapter was written for. */
  | { kind: 'other-version'; asked: string; answered: string };

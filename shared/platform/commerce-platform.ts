/**
 * The commerce platform as the service sees it (contract §8). Adapters answer with values for everything a platform
 * can be expected to do wrong; they throw only for our own mistakes.
 */
export interface CommercePlatform {
  /**
   * The quantity `available` of a variant at each location that has a level of it, in the platform's order
   * (contract §2 "Inventory read"). With `locationIds`, only levels at those: a location without a level is absent, since
   * only the caller's own tables tell "nothing booked here yet" (0) from "no such location".
   * The variant id is 1–20 digits: any other, a virtual material's above all, is a mistake of the caller and throws.
   */
  readLevels(
    shop: PlatformShop,
    variantId: string,
    locationIds?: readonly string[],
  ): Promise<PlatformResult<{ levels: PlatformLevel[] }>>;
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
 * Every expected failure, with a sentence that may be shown to a client (contract §5: `not-found` is 404 NOT_FOUND, each
 * other one 502 UPSTREAM_ERROR).
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
} as const;

/** What an operator may want to see of the calls. Holds no token and no text that the platform wrote. */
export type PlatformEvent =
  | { kind: 'attempt-failed'; shopId: number; error: PlatformError; detail: string; attempt: number }
  | { kind: 'circuit-opened' | 'circuit-closed'; shopId: number };

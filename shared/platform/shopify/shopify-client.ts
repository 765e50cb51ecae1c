import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { createCircuitBreaker } from '../circuit-breaker.js';
import type { CircuitBreaker } from '../circuit-breaker.js';
import type { PlatformError, PlatformEvent, PlatformResult, PlatformShop } from '../commerce-platform.js';
import { invalid } from './graphql-reply.js';
import type { FailedAttempt } from './graphql-reply.js';
import { postGraphql } from './post-graphql.js';
import { shopEndpoint, shopifyApiVersion } from './shop-endpoint.js';
import { createThrottle } from './throttle.js';
import type { QueryCost, Throttle } from './throttle.js';

export interface ShopifyClientDeps {
  /** Whether a shop's domain may be a server on 127.0.0.1: the demo's stand-in. Off in production. */
  allowLoopback: boolean;
  /** Hears of failed attempts and of circuits; for the log. */
  report?: (event: PlatformEvent) => void;
  limits?: Partial<ShopifyLimits>;
  clock?: Clock;
}

export interface ShopifyLimits {
  attemptTimeoutMs: number;
  /** For a whole call: every page, attempt and wait. No wait is begun that would not end before it. */
  deadlineMs: number;
  /** The same two for a call in the background, where nobody waits and a bucket of points may have to fill first. */
  backgroundAttemptTimeoutMs: number;
  backgroundDeadlineMs: number;
  /** For each query of a call. */
  attemptsMax: number;
  backoffMs: number;
  backoffMsMax: number;
  bodyBytesMax: number;
  /** Failed attempts in a row that open a shop's circuit, and how long it stays open before a probe. */
  failuresToOpen: number;
  coolDownMs: number;
}

/** Monotonic milliseconds, a wait, and a number in [0, 1) for the jitter. */
export interface Clock {
  nowMs(): number;
  /** Rejects when the caller gives up meanwhile. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
  random(): number;
}

/** One use of a shop's API under one deadline; it may take several queries, one after the other. */
export interface ShopifyCall {
  query<Data>(asked: Query<Data>): Promise<PlatformResult<Data>>;
  /** The failure for an answer that is well-formed and yet makes no sense. */
  distrust(detail: string): { ok: false; error: PlatformError };
}

interface Query<Data> {
  document: string;
  variables: object;
  /** What `data` must be before it is believed. */
  isData: (data: unknown) => data is Data;
}

/**
 * How a call is made: `live`, for somebody who waits, or in the `background`, which waits rather than be throttled and
 * leaves points for live calls. `signal`: the caller may give up; the call then rejects with its reason.
 */
export interface CallOptions {
  use?: 'live' | 'background';
  signal?: AbortSignal | undefined;
}

/** Calls to shops' Admin GraphQL API: bounded attempts within a deadline, and a circuit for each shop (contract §8). */
export function createShopifyClient(deps: ShopifyClientDeps): {
  /** Undefined where the shop's domain or token cannot be used, which is reported: then nothing may be called. */
  begin(shop: PlatformShop, options?: CallOptions): ShopifyCall | undefined;
} {
  const { allowLoopback, report = () => undefined, clock = systemClock } = deps;
  const limits = { ...defaultLimits, ...deps.limits };
  const nowMs = () => clock.nowMs();
  const circuits = new LRUCache<number, CircuitBreaker>({
    max: shopsMax,
    memoMethod: (shopId) => {
      const { failuresToOpen, coolDownMs } = limits;
      const onChange = (state: 'opened' | 'closed'): void => report({ kind: `circuit-${state}`, shopId });
      return createCircuitBreaker({ failuresToOpen, coolDownMs, nowMs, onChange });
    },
  });
  const throttles = new LRUCache<number, Throttle>({ max: shopsMax, memoMethod: () => createThrottle(nowMs) });
  const hearVersion = reportOtherVersions(report);

  return {
    begin(shop, { use = 'live', signal } = {}) {
      const endpoint = shopEndpoint(shop.domain, { allowLoopback });
      if (endpoint === undefined || !sendableToken.test(shop.accessToken)) {
        const detail = endpoint === undefined ? 'its domain may not be called' : 'its token cannot be sent';
        report({ kind: 'attempt-failed', shopId: shop.shopId, error: 'not-callable', detail, attempt: 1 });
        return undefined;
      }
      const inBackground = use === 'background';
      const context: CallContext = {
        shop,
        endpoint,
        circuit: circuits.memo(shop.shopId),
        throttle: throttles.memo(shop.shopId),
        limits,
        clock,
        report,
        hearVersion,
        inBackground,
        attemptTimeoutMs: inBackground ? limits.backgroundAttemptTimeoutMs : limits.attemptTimeoutMs,
        deadlineAtMs: clock.nowMs() + (inBackground ? limits.backgroundDeadlineMs : limits.deadlineMs),
        signal,
      };
      return {
        query: (asked) => withRetries(context, asked),
        distrust(detail) {
          const error = 'invalid-response';
          report({ kind: 'attempt-failed', shopId: shop.shopId, error, detail, attempt: 1 });
          return { ok: false, error };
        },
      };
    },
  };
}

const defaultLimits: ShopifyLimits = {
  attemptTimeoutMs: 3_000,
  deadlineMs: 8_000,
  backgroundAttemptTimeoutMs: 10_000,
  // The smallest bucket, of 1,000 points at 50 a second, is full after 20 s.
  backgroundDeadlineMs: 60_000,
  attemptsMax: 3,
  backoffMs: 200,
  backoffMsMax: 2_000,
  // A full page of 50 levels is some 10 KB, one of 50 variants some 40 KB.
  bodyBytesMax: 1_048_576,
  failuresToOpen: 5,
  coolDownMs: 10_000,
};

/** Reports a version that was not asked for when it is first heard of, and not again for each reply. */
function reportOtherVersions(report: (event: PlatformEvent) => void): (version: string | null) => void {
  let reported: string | undefined;
  return (version) => {
    if (version === null || !/^\d{4}-\d{2}$/.test(version)) return;
    if (version === shopifyApiVersion || version === reported) return;
    reported = version;
    report({ kind: 'other-version', asked: shopifyApiVersion, answered: version });
  };
}

/** A forgotten circuit is a closed one, and a forgotten throttle a full one: the bound costs at most a few calls. */
const shopsMax = 10_000;

const systemClock: Clock = {
  nowMs: () => performance.now(),
  wait: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
  random: () => Math.random(),
};

/** fetch quotes a header it cannot send in the error it throws; such a token never gets that far. */
const sendableToken = /^[\x21-\x7e]{1,255}$/;

interface CallContext {
  shop: PlatformShop;
  endpoint: string;
  circuit: CircuitBreaker;
  throttle: Throttle;
  limits: ShopifyLimits;
  clock: Clock;
  report: (event: PlatformEvent) => void;
  hearVersion: (version: string | null) => void;
  inBackground: boolean;
  attemptTimeoutMs: number;
  deadlineAtMs: number;
  signal: AbortSignal | undefined;
}

/** Retries what may pass by itself: the network, time-outs, 5xx, throttling. Bounded by count and deadline. */
async function withRetries<Data>(context: CallContext, asked: Query<Data>): Promise<PlatformResult<Data>> {
  const { circuit, clock, deadlineAtMs, limits, report, shop } = context;
  let error: PlatformError = 'timeout';
  for (let attempt = 1; attempt <= limits.attemptsMax; attempt++) {
    if (!(await untilAffordable(context, asked.document))) return { ok: false, error: 'throttled' };
    const leftMs = deadlineAtMs - clock.nowMs();
    if (leftMs <= 0) break;
    const passed = await circuit.run(() => attemptOnce(context, asked, leftMs), isPlatformDown);
    if (passed.open) return { ok: false, error: attempt === 1 ? 'circuit-open' : error };
    const { outcome } = passed;
    if (outcome.cost !== undefined) context.throttle.hear(asked.document, outcome.cost);
    if (outcome.ok) return { ok: true, data: outcome.data };
    error = outcome.error;
    report({ kind: 'attempt-failed', shopId: shop.shopId, error, detail: outcome.detail, attempt });
    // Whoever opened the circuit, this call or another: waiting for an attempt that will not be let through helps
    // nobody.
    if (!outcome.retry || attempt === limits.attemptsMax || !circuit.admits()) break;
    const waitMs = waitBeforeNext(attempt, outcome, context);
    if (clock.nowMs() + waitMs >= deadlineAtMs) break;
    await clock.wait(waitMs, context.signal);
  }
  return { ok: false, error };
}

/** In the background: waits until the bucket holds the query's points; false if that is past the deadline. */
async function untilAffordable(context: CallContext, document: string): Promise<boolean> {
  const { throttle, clock, deadlineAtMs, inBackground, signal } = context;
  const waitMs = inBackground ? throttle.waitMs(document) : 0;
  if (waitMs === 0) return true;
  if (clock.nowMs() + waitMs >= deadlineAtMs) {
    throttle.forget();
    return false;
  }
  await clock.wait(waitMs, signal);
  return true;
}

async function attemptOnce<Data>(
  { endpoint, shop, limits, attemptTimeoutMs, signal, hearVersion }: CallContext,
  { document, variables, isData }: Query<Data>,
  leftMs: number,
): Promise<{ ok: true; data: Data; cost?: QueryCost } | FailedAttempt> {
  const reply = await postGraphql({
    endpoint,
    accessToken: shop.accessToken,
    document,
    variables,
    timeoutMs: Math.min(attemptTimeoutMs, leftMs),
    bodyBytesMax: limits.bodyBytesMax,
    signal,
    hearVersion,
  });
  if (!reply.ok) return reply;
  const { data } = reply;
  return isData(data) ? { ...reply, data } : invalid('the data is not of the shape asked for');
}

/**
 * What counts against the circuit: no answer, or a failure of the platform as a whole. A refusal, a throttle or a
 * strange answer to one query shows that it is there.
 */
function isPlatformDown(outcome: { ok: true } | FailedAttempt): boolean {
  return !outcome.ok && (outcome.error === 'unavailable' || outcome.error === 'timeout');
}

/**
 * What the platform asked for plus a little jitter, so that waiters do not return together; else exponential backoff
 * with full jitter (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
 */
function waitBeforeNext(attempt: number, failure: FailedAttempt, { limits, clock }: CallContext): number {
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs + clock.random() * limits.backoffMs;
  return clock.random() * Math.min(limits.backoffMsMax, limits.backoffMs * 2 ** (attempt - 1));
}

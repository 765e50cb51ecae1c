import type { PlatformError } from '../commerce-platform.js';
import { compiledWhenAsked } from './compiled-when-asked.js';
import type { QueryCost } from './throttle.js';

/**
 * What one attempt came to. `retryAfterMs`: how long the platform asks us to wait, where it says so; `cost`: what the
 * query costs and what is left, where it says that.
 */
export type Attempt = { ok: true; data: unknown; cost?: QueryCost } | FailedAttempt;

export interface FailedAttempt {
  ok: false;
  cost?: QueryCost;
  error: PlatformError;
  retry: boolean;
  retryAfterMs?: number;
  /** For operators; never text that the platform wrote. */
  detail: string;
}

/**
 * The verdict on a body that came with status 200: its `data`, or what its `errors` mean. Partial data is not believed.
 */
export function readReply(text: string): Attempt {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return invalid('the body is not JSON');
  }
  if (!isReply(reply)) return invalid('the body is not a GraphQL reply');
  const cost = readCost(reply.extensions);
  const known = cost === undefined ? {} : { cost };
  if (reply.errors === undefined || reply.errors.length === 0) return { ok: true, data: reply.data, ...known };
  return { ...readErrors(reply.errors, cost), ...known };
}

/** The verdict on a status other than 200 (https://shopify.dev/docs/api/usage/response-codes). */
export function readStatus(status: number, retryAfter: string | null): FailedAttempt {
  const detail = `HTTP ${status}`;
  if (status === 429) return { ok: false, error: 'throttled', retry: true, ...waitOf(retryAfter), detail };
  if (status >= 500) return { ok: false, error: 'unavailable', retry: true, ...waitOf(retryAfter), detail };
  if (status === 401 || status === 403) return { ok: false, error: 'unauthorized', retry: false, detail };
  // 402: the shop is frozen. 404: it is gone. 423: it is locked. 430: Shopify took us for an attacker. None heals at
  // once.
  if ([402, 404, 423, 430].includes(status)) return { ok: false, error: 'unavailable', retry: false, detail };
  return invalid(detail);
}

export function invalid(detail: string): FailedAttempt {
  return { ok: false, error: 'invalid-response', retry: false, detail };
}

/** The codes: https://shopify.dev/docs/api/admin-graphql#status-and-error-codes. The gravest known one decides. */
function readErrors(errors: GraphqlError[], cost: QueryCost | undefined): FailedAttempt {
  const codes = new Set(errors.map((error) => error.extensions?.code));
  if (codes.has('THROTTLED')) {
    return { ok: false, error: 'throttled', retry: true, ...restoreTime(cost), detail: 'THROTTLED' };
  }
  if (codes.has('ACCESS_DENIED')) return { ok: false, error: 'unauthorized', retry: false, detail: 'ACCESS_DENIED' };
  if (codes.has('SHOP_INACTIVE')) return { ok: false, error: 'unavailable', retry: false, detail: 'SHOP_INACTIVE' };
  if (codes.has('INTERNAL_SERVER_ERROR')) {
    return { ok: false, error: 'unavailable', retry: true, detail: 'INTERNAL_SERVER_ERROR' };
  }
  return invalid('GraphQL errors');
}

/** How long the bucket needs until it holds what the query asks for, by the cost figures of the reply. */
function restoreTime(cost: QueryCost | undefined): { retryAfterMs?: number } {
  if (cost === undefined) return {};
  const missingPoints = Math.max(0, cost.requestedPoints - cost.availablePoints);
  return { retryAfterMs: Math.ceil((missingPoints / cost.restoredPerSecond) * 1000) };
}

/** Figures that are not of the documented shape count as none. */
function readCost(extensions: unknown): QueryCost | undefined {
  if (!hasCost(extensions)) return undefined;
  const { requestedQueryCost, throttleStatus } = extensions.cost;
  return {
    requestedPoints: requestedQueryCost,
    availablePoints: throttleStatus.currentlyAvailable,
    maximumPoints: throttleStatus.maximumAvailable,
    restoredPerSecond: throttleStatus.restoreRate,
  };
}

/** `Retry-After`: seconds (Shopify sends "2.0") or an HTTP date (RFC 9110 §10.2.3); unreadable ones count as absent. */
function waitOf(retryAfter: string | null): { retryAfterMs?: number } {
  if (retryAfter === null) return {};
  const ms = /^\d+(\.\d+)?$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.max(0, Math.ceil(ms)) };
}

interface GraphqlError {
  extensions?: { code?: string };
}

const isReply = compiledWhenAsked((ajv) =>
  ajv.compile<{ data?: unknown; errors?: GraphqlError[]; extensions?: unknown }>({
    type: 'object',
    properties: {
      data: true,
      errors: {
        type: 'array',
        items: {
          type: 'object',
          properties: { extensions: { type: 'object', properties: { code: { type: 'string' } } } },
        },
      },
      extensions: true,
    },
  }),
);

interface CostExtension {
  cost: {
    requestedQueryCost: number;
    throttleStatus: { maximumAvailable?: number; currentlyAvailable: number; restoreRate: number };
  };
}

const hasCost = compiledWhenAsked((ajv) =>
  ajv.compile<CostExtension>({
    type: 'object',
    required: ['cost'],
    properties: {
      cost: {
        type: 'object',
        required: ['requestedQueryCost', 'throttleStatus'],
        properties: {
          requestedQueryCost: { type: 'number', minimum: 0 },
          throttleStatus: {
            type: 'object',
            required: ['currentlyAvailable', 'restoreRate'],
            properties: {
              maximumAvailable: { type: 'number', exclusiveMinimum: 0 },
              currentlyAvailable: { type: 'number' },
              restoreRate: { type: 'number', exclusiveMinimum: 0 },
            },
          },
        },
      },
    },
  }),
);

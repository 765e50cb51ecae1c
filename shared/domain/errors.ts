/** Every error code a client can meet and the status that carries it (spec §Errors, contract §5). */
export const statusByCode = {
  INVALID_INPUT: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN_SCOPE: 403,
  PLAN_REQUIRED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  EXPECTATION_FAILED: 417,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  UPSTREAM_ERROR: 502,
  SERVICE_UNAVAILABLE: 503,
  OUTCOME_UNKNOWN: 504,
} as const;

export type ErrorCode = keyof typeof statusByCode;

/** One fault of a request: a JSON Pointer into the body, or the name of a query parameter or header (contract §2). */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** An expected failure of a whole request, as a value. */
export interface RequestError {
  code: ErrorCode;
  message: string;
  /** At least one. */
  details?: ErrorDetail[];
  /** For 429 and 503: whole seconds, at least 1, until a new attempt makes sense. */
  retryAfterSeconds?: number;
}

export interface Refusal {
  ok: false;
  error: RequestError;
}

/** The outcome of a use case: its data, or the expected failure. */
export type Result<T> = { ok: true; data: T } | Refusal;

export function succeed<T>(data: T): Result<T> {
  return { ok: true, data };
}

export function fail(code: ErrorCode, message: string, more: Omit<RequestError, 'code' | 'message'> = {}): Refusal {
  return { ok: false, error: { code, message, ...more } };
}

/** A 503 for what may pass at any moment: a new attempt makes sense after a second, the least `Retry-After` can say. */
export function unavailable(message: string): Refusal {
  return fail('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 });
}

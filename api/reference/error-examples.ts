import type { ErrorCode, RequestError } from '../../shared/domain/errors.js';

/** For each code an error as the running service answered it, without `meta`; see `replyExamples`. */
export const errorExamples: Readonly<Record<ErrorCode, Omit<RequestError, 'code'>>> = {
  INVALID_INPUT: {
    message: 'The body has 2 faults; see details.',
    details: [
      { path: '/updates/0', message: 'Must carry exactly one of delta and absolute.' },
      { path: '/updates/1/absolute', message: 'Must be at least 0.' },
    ],
  },
  UNAUTHORIZED: { message: 'Send an API key: Authorization: Bearer <API_KEY>.' },
  FORBIDDEN_SCOPE: {
    message: 'This API key may only read; a key with the write scope is needed.',
  },
  PLAN_REQUIRED: {
    message: 'The REST interface is part of the Enhanced plan, which this shop is not on.',
  },
  NOT_FOUND: { message: 'No such raw material.' },
  METHOD_NOT_ALLOWED: { message: 'This path answers to GET, PATCH only.' },
  REQUEST_TIMEOUT: { message: 'The request took too long to arrive.' },
  CONFLICT: {
    message: 'The level is 71.75, not the expected 70.',
    details: [{ path: '/updates/0', message: 'The level is 71.75, not the expected 70.' }],
  },
  PRECONDITION_FAILED: {
    message: 'The fields are at version "1", which If-Match does not name. Nothing was changed.',
  },
  PAYLOAD_TOO_LARGE: { message: 'The body is larger than 1048576 bytes.' },
  UNSUPPORTED_MEDIA_TYPE: {
    message: 'Send a JSON object with Content-Type: application/json, as UTF-8.',
  },
  EXPECTATION_FAILED: { message: 'Of expectations only 100-continue can be met.' },
  IDEMPOTENCY_KEY_REUSED: {
    message:
      'This Idempotency-Key was used with another request before. Nothing was applied; use a new key for a new request.',
  },
  RATE_LIMITED: {
    message: 'The shop has used up its requests for now. REST and the agent surface share one budget.',
  },
  HEADERS_TOO_LARGE: { message: 'The request line and the headers are larger than 16 KiB.' },
  INTERNAL_ERROR: {
    message: 'Something went wrong on our side. This request was not applied; quote the request id to support.',
  },
  UPSTREAM_ERROR: { message: "The commerce platform refused the shop's credentials." },
  SERVICE_UNAVAILABLE: {
    message: 'The change could not be applied in time, and was cancelled. Nothing was applied.',
  },
  OUTCOME_UNKNOWN: {
    message:
      'The request was queued, but whether it is applied cannot be told yet. What /v1/raw-materials/VMAT-VAR-5a8f9c1e-3d0b-4c6e-9b7a-1f2e3d4c5b6a/inventory/history?requestId=019ab8f2-6c00-7d3a-8f21-4b5c6d7e8f90 shows is applied. Ten minutes from now, once /readyz answers 200, what it does not show never will be.',
  },
};

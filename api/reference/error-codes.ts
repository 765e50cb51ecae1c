import type { ErrorCode } from '../../shared/domain/errors.js';
import type { HeaderName } from './headers.js';

interface ErrorCodeText {
  when: string;
  headers?: readonly HeaderName[];
}

/** What each error code means to a client (contract §5); a code without its line here does not compile. */
export const errorCodes: Record<ErrorCode, ErrorCodeText> = {
  INVALID_INPUT: {
    when: 'Something about the request is not valid; `details` names each fault, past a hundred one of each bad row. Nothing was applied.',
    headers: ['Idempotency-Replayed'],
  },
  UNAUTHORIZED: {
    when: 'No API key, or one that is malformed, unknown, expired or revoked.',
    headers: ['WWW-Authenticate'],
  },
  FORBIDDEN_SCOPE: { when: 'The key may only read.', headers: ['WWW-Authenticate'] },
  PLAN_REQUIRED: { when: 'The key is good, but its shop is not on the Enhanced plan.' },
  NOT_FOUND: {
    when: 'There is no such material, for this shop; or every row of a batch named a location that it does not have.',
    headers: ['Idempotency-Replayed'],
  },
  METHOD_NOT_ALLOWED: {
    when: 'Any method that the path does not have; `Allow` lists those it has.',
    headers: ['Allow'],
  },
  REQUEST_TIMEOUT: { when: 'The request took too long to arrive.' },
  CONFLICT: {
    when: 'Every row of the batch expected another level than the one it met.',
    headers: ['Idempotency-Replayed'],
  },
  PRECONDITION_FAILED: {
    when: 'The material is at another version than `If-Match` says. Nothing was applied.',
    headers: ['Idempotency-Replayed'],
  },
  PAYLOAD_TOO_LARGE: { when: 'The body is larger than 1 MiB.' },
  UNSUPPORTED_MEDIA_TYPE: {
    when: 'A content type or content encoding that is not taken.',
    headers: ['Accept-Patch'],
  },
  EXPECTATION_FAILED: { when: 'An `Expect` header other than 100-continue.' },
  IDEMPOTENCY_KEY_REUSED: { when: 'The Idempotency-Key was used with another request before. Nothing was applied.' },
  RATE_LIMITED: {
    when: "The shop's budget is used up, or too many bad keys came from this address.",
    headers: ['Retry-After'],
  },
  HEADERS_TOO_LARGE: { when: 'The head of the request is larger than 16 KiB.' },
  INTERNAL_ERROR: { when: 'A fault of the service. A PATCH that was answered with it is not applied.' },
  UPSTREAM_ERROR: { when: 'The commerce platform failed, or took too long.' },
  SERVICE_UNAVAILABLE: {
    when: 'Refused for now. This attempt of a PATCH is certainly not applied, and never will be.',
    headers: ['Retry-After'],
  },
  OUTCOME_UNKNOWN: {
    when: 'Queued, but whether it is applied cannot be told yet: an executed answer to the same Idempotency-Key settles it.',
  },
};

import { expect } from 'chai';
import type { Answer } from './http.js';
import { expectError } from './reply.js';

/** An answer without what differs from request to request: its id, the time, and what is left of the limit. */
function withoutTraces({ status, headers, text }: Answer): unknown {
  const id = String(headers['x-request-id']);
  const { date, ratelimit, ...others } = headers;
  expect(date, 'Date').to.be.a('string');
  expect(ratelimit, 'RateLimit').to.be.a('string');
  return { status, headers: { ...others, 'x-request-id': '' }, text: text.replaceAll(id, '') };
}

/** Two 404 that a client cannot tell apart: another shop's material shows in nothing (contract §1). */
export function expectSameNotFound(one: Answer, other: Answer): void {
  expectError(one, 'NOT_FOUND');
  expect(withoutTraces(one)).to.deep.equal(withoutTraces(other));
}

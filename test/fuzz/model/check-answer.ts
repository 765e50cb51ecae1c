import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import type { Answer } from '../../support/http/http.js';
import { checkReply } from '../../support/http/reply.js';
import type { Expected } from './stock-model.js';

/** Compares an answer with what the model says, except for the values that the service makes up. */
export function checkAnswer(what: string, answer: Answer, expected: Expected): void {
  checkReply(answer);
  const wanted = `the model has ${JSON.stringify(expected)}`;
  expect(shownBy(answer), `${what}: ${answer.text}; ${wanted}`).to.deep.equal(asShown(expected));
}

/** Whether an answer is what the model says. */
export function isAnswer(answer: Answer, expected: Expected): boolean {
  return isDeepStrictEqual(shownBy(answer), asShown(expected));
}

/** `data` of a 200, with times and ids replaced by what the model has for them. */
export function steadyData({ body }: Answer): unknown {
  return JSON.parse(JSON.stringify((body as { data: unknown }).data, steady)) as unknown;
}

export function requestIdOf({ headers }: Answer): string {
  return String(headers['x-request-id']);
}

function shownBy(answer: Answer): Record<string, unknown> {
  const { status, headers } = answer;
  const { error } = answer.body as { error?: { code: string; details?: { path: string }[] } };
  return {
    status,
    code: error?.code,
    paths: error?.details?.map(({ path }) => path).sort(),
    data: error === undefined ? steadyData(answer) : undefined,
    etag: headers['etag'],
    replayed: headers['idempotency-replayed'] === 'true',
    applied: headers['preference-applied'],
  };
}

function asShown({ status, code, paths, data, etag, replayed = false, applied }: Expected): Record<string, unknown> {
  return { status, code, paths, data, etag, replayed, applied };
}

const times = new Set(['createdAt', 'updatedAt', 'at']);

function steady(name: string, value: unknown): unknown {
  if (times.has(name)) return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? '(time)' : value;
  if (name === 'operationId') return '(id)';
  return name === 'message' ? '(text)' : value;
}

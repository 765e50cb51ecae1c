import { expect } from 'chai';
import { ajv } from '../../../shared/contract/ajv.js';
import { batchResultSchema } from '../../../shared/contract/batch-result.js';
import { apiVersion, errorSchema, successSchema } from '../../../shared/contract/envelope.js';
import { inventoryLevelsSchema } from '../../../shared/contract/inventory-levels.js';
import { listPageSchema } from '../../../shared/contract/list-page.js';
import { connectedMaterialSchema, materialSchema } from '../../../shared/contract/material.js';
import { statusByCode } from '../../../shared/domain/errors.js';
import type { ErrorCode, ErrorDetail } from '../../../shared/domain/errors.js';
import type { Answer } from './http.js';

const statusSchema = {
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string' } },
  additionalProperties: false,
} as const;

const isError = ajv.compile(errorSchema);
const isSuccess = {
  batch: ajv.compile(successSchema(batchResultSchema)),
  connectedMaterial: ajv.compile(successSchema(connectedMaterialSchema)),
  levels: ajv.compile(successSchema(inventoryLevelsSchema)),
  list: ajv.compile(successSchema(listPageSchema)),
  material: ajv.compile(successSchema(materialSchema)),
  status: ajv.compile(successSchema(statusSchema)),
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** What holds of every reply, whatever it says and whoever sent it: our handlers, or the server for Node's parser. */
export function checkReply(answer: Answer, method = 'GET'): void {
  const { status, headers, text } = answer;
  expect(headers['content-type'], 'Content-Type').to.equal('application/json; charset=utf-8');
  expect(headers['x-content-type-options'], 'X-Content-Type-Options').to.equal('nosniff');
  expect(headers['x-request-id'], 'X-Request-Id').to.match(uuid);
  expect(headers['retry-after'] !== undefined, 'Retry-After').to.equal(status === 429 || status === 503);
  expect(headers['allow'] !== undefined, 'Allow').to.equal(status === 405);
  expect(headers['accept-patch'] !== undefined, 'Accept-Patch').to.equal(status === 415);
  expect(headers['www-authenticate'] === undefined || status === 401 || status === 403, 'WWW-Authenticate').to.be.true;
  if (method === 'HEAD') {
    expect(text, 'the body of an answer to HEAD').to.equal('');
    return;
  }
  expect(Number(headers['content-length']), 'Content-Length').to.equal(Buffer.byteLength(text));
  expect(text, 'a stack trace').not.to.match(/\.[jt]s:\d+/);
  const { meta, error } = answer.body as { meta: unknown; error?: { code: ErrorCode } };
  expect(meta, 'meta').to.deep.equal({ requestId: headers['x-request-id'], apiVersion });
  if (error === undefined) {
    expect(status, text).to.equal(200);
  } else {
    expect(isError(answer.body), `${text}: ${ajv.errorsText(isError.errors)}`).to.equal(true);
    expect(status, text).to.equal(statusByCode[error.code]);
  }
}

/** `data` of a 200 that is exactly of its schema. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a test knows what it has put there
export function expectData(answer: Answer, kind: keyof typeof isSuccess): any {
  const { status, text } = answer;
  checkReply(answer);
  expect(status, text).to.equal(200);
  const check = isSuccess[kind];
  expect(check(answer.body), `${text}: ${ajv.errorsText(check.errors)}`).to.equal(true);
  return (answer.body as { data: unknown }).data;
}

export interface ShownError {
  code: ErrorCode;
  message: string;
  details?: ErrorDetail[];
}

/** The request-level error of a reply, which must be of this code, under its status and exactly of its schema. */
export function expectError(answer: Answer, code: ErrorCode): ShownError {
  checkReply(answer);
  const { error } = answer.body as { error?: ShownError };
  expect(error?.code, answer.text).to.equal(code);
  return error as ShownError;
}

/** A 400 whose `details` name exactly these paths, in whatever order. */
export function expectFaults(answer: Answer, paths: readonly string[]): ErrorDetail[] {
  const { details = [] } = expectError(answer, 'INVALID_INPUT');
  expect(
    details.map(({ path }) => path),
    answer.text,
  ).to.have.members(paths);
  return details;
}

/** Every key in a value by its path, such as `data.items[].id`, sorted: what a client that compares fields sees. */
export function keysOf(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const found = Array.isArray(value)
    ? value.flatMap((item) => keysOf(item, `${prefix}[]`))
    : Object.entries(value).flatMap(([key, member]) => {
        const path = prefix === '' ? key : `${prefix}.${key}`;
        return [path, ...keysOf(member, path)];
      });
  return [...new Set(found)].sort();
}

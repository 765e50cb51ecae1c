import type { Schema } from '../../shared/contract/published-formats.js';

export interface HeaderObject {
  description: string;
  required?: true;
  schema: Schema;
  example?: unknown;
}

/**
 * Every header of an answer that means something to a client, by its name (contract §1, §2, §5–§7); `File-` marks one
 * that means something else on a file than on a material.
 */
export const responseHeaders = {
  'X-Request-Id': {
    description: 'The id of this request, minted by the service; the value to quote to support. Equals meta.requestId.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  'RateLimit-Policy': {
    description: 'The budget that the shop shares over all its keys: q requests in w seconds.',
    schema: { type: 'string' },
    example: '"shop";q=600;w=60',
  },
  RateLimit: {
    description: 'What is left of the budget: r requests within the next t seconds. On every authenticated answer.',
    schema: { type: 'string' },
    example: '"shop";r=599;t=60',
  },
  'Retry-After': {
    description: 'Whole seconds until a new attempt makes sense.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  Allow: {
    description: 'The methods that this path has.',
    required: true,
    schema: { type: 'string' },
    example: 'GET, PATCH',
  },
  'WWW-Authenticate': {
    description: 'What a key lacks (RFC 6750). Absent where the plan is what is missing.',
    schema: { type: 'string' },
    example: 'Bearer realm="raw-materials", error="invalid_token"',
  },
  'Accept-Patch': {
    description: 'The content types that are taken here.',
    required: true,
    schema: { type: 'string' },
    example: 'application/json',
  },
  Link: {
    description:
      'The pages first, prev, next and last (RFC 8288), as far as they exist, relative to this address, with the search ' +
      'and the filters of the request. Where that would be longer than 3 KiB only prev and next, and where those are too ' +
      'it is left out: page, and totalPages of the body, say the same.',
    schema: { type: 'string' },
    example: '<raw-materials?page=1>; rel="first", <raw-materials?page=2>; rel="last"',
  },
  'Idempotency-Replayed': {
    description: 'Only on an answer that an earlier request with the same Idempotency-Key was given.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  'Preference-Applied': {
    description: 'The preferences of Prefer that were honoured (RFC 7240), where there are any.',
    schema: { type: 'string' },
    example: 'return=representation',
  },
  ETag: {
    description: "The version of the material's fields, for If-Match; changes of stock do not move it.",
    schema: { type: 'string' },
    example: '"3"',
  },
  'Cache-Control': {
    description: 'no-cache: kept copies are asked for again by their ETag.',
    required: true,
    schema: { type: 'string' },
    example: 'no-cache',
  },
  'File-ETag': {
    description: 'Names this content, for If-None-Match.',
    required: true,
    schema: { type: 'string' },
    example: 'W/"0c5ba8a6d8b4f1f2"',
  },
  Vary: {
    description: 'The content comes compressed to those who accept it so.',
    required: true,
    schema: { type: 'string' },
    example: 'Accept-Encoding',
  },
  'Content-Encoding': {
    description: 'Where it comes compressed.',
    schema: { type: 'string', const: 'gzip' },
    example: 'gzip',
  },
  'Referrer-Policy': {
    description: 'No other site is told of this address.',
    required: true,
    schema: { type: 'string', const: 'no-referrer' },
    example: 'no-referrer',
  },
  'Content-Security-Policy': {
    description: 'The page may load and call nothing but this service.',
    required: true,
    schema: { type: 'string' },
  },
} as const satisfies Record<string, HeaderObject>;

export type HeaderName = keyof typeof responseHeaders;

/** `headers` of a response: a `$ref` for each. */
export function headerRefs(names: readonly HeaderName[]): Record<string, Schema> {
  return Object.fromEntries(
    names.map((name) => [name.replace(/^File-/, ''), { $ref: `#/components/headers/${name}` }]),
  );
}

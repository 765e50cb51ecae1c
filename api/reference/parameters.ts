import type { Schema } from '../../shared/contract/published-formats.js';
import type { Hoist } from './hoist-schemas.js';

/** An entity tag, as `readIfMatch` takes it. */
const tag = '(?:W/)?"[!#-~\\x80-\\xff]*"';

/**
 * What the readers of ids and headers accept, so that clients can check a request before they send it. Without
 * look-ahead, which some validators (RE2) do not know.
 */
const patterns = {
  variantId: '^(?:[0-9]{1,20}$|VMAT-)',
  virtualId: '^VMAT-',
  // A key that begins with a quote and ends with one is a quoted key, and then not an empty one.
  idempotencyKey: '^(?:[!#-~][!-~]{0,254}|"(?:[!-~]{0,253}[!#-~]|[!-~]{1,255}")?)$',
  ifMatch: `^(?:[ \\t]*\\*[ \\t]*|[ \\t]*(?:,[ \\t]*)*${tag}[ \\t]*(?:,[ \\t]*(?:${tag}[ \\t]*)?)*)$`,
} as const;

/**
 * Parameters in a path or header; those in a query come from the schemas that validate them (`queryParameters`). None
 * has an `example`: the page would fill it in, and a key or a tag that the user did not choose changes what a request
 * means.
 */
export const parameters = {
  variantId: {
    name: 'variantId',
    in: 'path',
    required: true,
    description:
      '1–20 digits: a variant of the commerce platform. VMAT-…: a virtual material, whose new ids are VMAT-VAR-<uuid>. ' +
      'Global ids (gid://…) are not taken.',
    schema: { type: 'string', pattern: patterns.variantId },
  },
  virtualId: {
    name: 'variantId',
    in: 'path',
    required: true,
    description:
      'The id of a virtual material. The platform manages its own: their ids are refused with INVALID_INPUT.',
    schema: { type: 'string', pattern: patterns.virtualId },
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      '1–255 visible ASCII characters, bare or in double quotes. What was decided when a request was carried out is ' +
      'remembered for 24 h and given again to a repeat of the same request: a 200, or a 400, 404, 409 or 412. After ' +
      'such a refusal, as when a missing location was added since, take a new key. After 401, 403, 408, 413, 415, ' +
      '429, 500 and 503, which are not remembered, keep the key. The same key with another body, query, Prefer or If-Match is IDEMPOTENCY_KEY_REUSED. On another path it is ' +
      'another key.',
    schema: { type: 'string', minLength: 1, maxLength: 257, pattern: patterns.idempotencyKey },
  },
  prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      'return=representation: rows that are ok tell what they did, the clamp included. handling=lenient: malformed rows ' +
      'become results of their rows, and the good ones are applied. Anything else is ignored (RFC 7240).',
    schema: { type: 'string' },
  },
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The ETag of the version that is to be changed, or several; 412 where the material is at another. A weak tag ' +
      'matches none: proxies must leave ETag as it is, and most that compress make it weak.',
    schema: { type: 'string', pattern: patterns.ifMatch },
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The ETag of a kept copy: 304 while that is still the content.',
    schema: { type: 'string' },
  },
} as const satisfies Record<string, Schema>;

export type ParameterName = keyof typeof parameters;

export interface QuerySchema {
  readonly properties: Readonly<Record<string, Schema>>;
}

/** The parameters of a query; an array becomes one that is repeated. */
export function queryParameters({ properties }: QuerySchema, hoist: Hoist): Schema[] {
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = property;
    return {
      name,
      in: 'query',
      ...(description !== undefined && { description }),
      ...(schema['type'] === 'array' && { style: 'form', explode: true }),
      schema: hoist(schema),
    };
  });
}

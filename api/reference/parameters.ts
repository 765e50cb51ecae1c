import type { Schema } from '../../shared/contract/published-formats.js';
import type { Hoist } from './hoist-schemas.js';

/**
 * Parameters in a path or header; those in a query come from the schemas that validate them (`queryParameters`). None
 * has an `example`: the page would fill it in, and a key or a tag that nobody chose changes what a request means.
 */
export const parameters = {
  variantId: {
    name: 'variantId',
    in: 'path',
    required: true,
    description:
      '1–20 digits: a variant of the commerce platform. VMAT-…: a virtual material, whose new ids are VMAT-VAR-<uuid>. ' +
      'Global ids (gid://…) are not taken.',
    schema: { type: 'string' },
  },
  virtualId: {
    name: 'variantId',
    in: 'path',
    required: true,
    description:
      'The id of a virtual material. The platform manages its own: their ids are refused with INVALID_INPUT.',
    schema: { type: 'string' },
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      '1–255 visible ASCII characters, bare or in double quotes. An executed answer is remembered for 24 h and given again ' +
      'to a repeat of the same request; the same key with another request is IDEMPOTENCY_KEY_REUSED.',
    schema: { type: 'string', minLength: 1, maxLength: 257, pattern: '^[\\x21-\\x7e]+$' },
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
    description: 'The ETag of the version that is to be changed, or several; 412 where the material is at another.',
    schema: { type: 'string' },
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The ETag of a kept copy: 304 while that is still the content.',
    schema: { type: 'string' },
  },
} as const satisfies Record<string, Schema>;

export type ParameterName = keyof typeof parameters;

interface QuerySchema {
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

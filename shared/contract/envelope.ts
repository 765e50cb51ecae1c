import { statusByCode } from '../domain/errors.js';
import type { ErrorCode } from '../domain/errors.js';
import { wholeObject } from './whole-object.js';

/** `meta.apiVersion` of every answer (spec §Success envelope). */
export const apiVersion = '1.0';

const metaSchema = {
  title: 'Meta',
  ...wholeObject({
    requestId: { type: 'string', format: 'uuid', description: 'Also in the X-Request-Id header.' },
    apiVersion: { const: apiVersion },
  }),
} as const;

/** The body of every 200 around the schema of its `data` (spec §Success envelope). */
export function successSchema<const Data extends object>(data: Data) {
  return wholeObject({ data, meta: metaSchema });
}

/** The body of every request-level error (contract §2). */
export const errorSchema = {
  title: 'Error',
  ...wholeObject({
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string', enum: Object.keys(statusByCode) as ErrorCode[] },
        message: { type: 'string' },
        details: {
          type: 'array',
          minItems: 1,
          description: 'Only on validation errors and on batches whose rows all failed alike.',
          items: {
            title: 'ErrorDetail',
            ...wholeObject({
              path: {
                type: 'string',
                description:
                  'A JSON Pointer into the body, empty for the whole of it, or the name of a parameter or header; ' +
                  '`path` or `query` for the whole of these.',
              },
              message: { type: 'string' },
            }),
          },
        },
      },
      additionalProperties: false,
    },
    meta: metaSchema,
  }),
} as const;

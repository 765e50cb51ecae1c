import { errorSchema } from './envelope.js';

/** The content type of an error for clients that accept it (contract §7, RFC 9457). */
export const problemType = 'application/problem+json';

const { code, details } = errorSchema.properties.error.properties;

/** Every request-level error, for clients that send `Accept: application/problem+json` (RFC 9457 §3.1). */
export const problemSchema = {
  title: 'Problem',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { const: 'about:blank', description: 'The code tells the problems apart.' },
    title: { type: 'string', description: 'The phrase of the HTTP status.' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'What went wrong this time.' },
    instance: { type: 'string', format: 'uri', description: 'urn:uuid: and the requestId.' },
    code,
    requestId: { type: 'string', format: 'uuid', description: 'Also in the X-Request-Id header.' },
    details,
  },
  additionalProperties: false,
} as const;

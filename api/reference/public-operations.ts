import { successSchema } from '../../shared/contract/envelope.js';
import type { Schema } from '../../shared/contract/published-formats.js';
import { wholeObject } from '../../shared/contract/whole-object.js';
import { docsFileNames } from './docs-assets.js';
import type { ErrorResponses } from './error-responses.js';
import { headerRefs } from './headers.js';
import type { HeaderName } from './headers.js';
import type { Hoist } from './hoist-schemas.js';
import { replyExamples } from './reply-examples.js';

const statusSchema = {
  title: 'Status',
  ...wholeObject({ status: { type: 'string', enum: ['ok', 'ready'] } }),
} as const;

const fileHeaders = ['X-Request-Id', 'Cache-Control', 'File-ETag', 'Vary'] as const;

/** The paths that need no key (contract §1), each with GET and HEAD. */
export function publicOperations(hoist: Hoist, errorsOf: ErrorResponses['of']): Record<string, Record<string, Schema>> {
  const health = (example: Schema) => ({
    description: 'It is.',
    headers: headerRefs(['X-Request-Id']),
    content: { 'application/json': { schema: hoist(successSchema(statusSchema)), examples: { status: example } } },
  });
  return {
    '/healthz': getAndHead({
      operationId: 'getHealth',
      summary: 'Whether the process runs',
      responses: { '200': health(replyExamples.healthy), ...errorsOf([]) },
    }),
    '/readyz': getAndHead({
      operationId: 'getReadiness',
      summary: 'Whether the service can serve',
      responses: { '200': health(replyExamples.ready), ...errorsOf(['SERVICE_UNAVAILABLE']) },
    }),
    '/openapi.json': getAndHead({
      operationId: 'getOpenApi',
      summary: 'This document',
      parameters: [ifNoneMatch],
      responses: { ...file({ 'application/json': { schema: { type: 'object' } } }), ...errorsOf([]) },
    }),
    '/docs': getAndHead({
      operationId: 'getDocs',
      summary: 'This document as a page to read and to try',
      parameters: [ifNoneMatch],
      responses: {
        ...file({ 'text/html; charset=utf-8': { schema: { type: 'string' } } }, [
          'Content-Security-Policy',
          'Referrer-Policy',
        ]),
        ...errorsOf([]),
      },
    }),
    '/docs/{file}': getAndHead({
      operationId: 'getDocsFile',
      summary: 'A part of that page',
      parameters: [
        { name: 'file', in: 'path', required: true, schema: { type: 'string', enum: docsFileNames } },
        ifNoneMatch,
      ],
      responses: { ...file(docsContent), ...errorsOf([]) },
    }),
  };
}

const ifNoneMatch = { $ref: '#/components/parameters/ifNoneMatch' };

const docsContent = {
  'text/javascript; charset=utf-8': { schema: { type: 'string' } },
  'text/css; charset=utf-8': { schema: { type: 'string' } },
  'image/png': {},
};

function file(content: Schema, more: readonly HeaderName[] = []): Record<string, Schema> {
  const headers = headerRefs([...fileHeaders, ...more]);
  return {
    '200': { description: 'The content.', headers: { ...headers, ...headerRefs(['Content-Encoding']) }, content },
    '304': { description: 'The kept copy is still the content.', headers },
  };
}

interface PublicOperation {
  operationId: string;
  summary: string;
  parameters?: readonly Schema[];
  responses: Record<string, Schema>;
}

/** An answer to HEAD is the answer to GET without its body. */
function getAndHead(get: PublicOperation): Record<string, Schema> {
  const shared = { tags: ['Service'], security: [] };
  const responses = Object.entries(get.responses).map(([status, response]) => {
    const { content: _content, ...head } = response;
    return [status, head] as const;
  });
  return {
    get: { ...shared, ...get },
    head: {
      ...shared,
      ...get,
      operationId: get.operationId.replace('get', 'head'),
      summary: `${get.summary}, without a body`,
      responses: Object.fromEntries(responses),
    },
  };
}

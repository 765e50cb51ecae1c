import { errorSchema } from '../../shared/contract/envelope.js';
import { problemSchema, problemType } from '../../shared/contract/problem.js';
import type { Schema } from '../../shared/contract/published-formats.js';
import type { ErrorCode } from '../../shared/domain/errors.js';
import type { ErrorResponses } from './error-responses.js';
import { headerRefs } from './headers.js';
import type { Hoist } from './hoist-schemas.js';

/** A message of JSON-RPC 2.0, as far as this document goes into it: the rest is the protocol's. */
const messageSchema = {
  title: 'JsonRpcMessage',
  type: 'object',
  required: ['jsonrpc'],
  properties: { jsonrpc: { const: '2.0' } },
  additionalProperties: true,
} as const;

const errors = [
  'UNAUTHORIZED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
] as const satisfies readonly ErrorCode[];

/** `POST /mcp`: the same operations for AI agents, in their own protocol (contract §1). */
export function agentOperation(hoist: Hoist, errorsOf: ErrorResponses['of']): Record<string, Record<string, Schema>> {
  const headers = headerRefs(['X-Request-Id', 'RateLimit-Policy', 'RateLimit']);
  const message = hoist(messageSchema);
  return {
    '/mcp': {
      post: {
        operationId: 'sendAgentMessage',
        tags: ['Agents'],
        summary: 'Send one message of the Model Context Protocol',
        description:
          'Streamable HTTP without sessions: each message is answered by one JSON document (`subscriptions/listen`, for whom ' +
          'there is nothing to hear, by a stream that ends at once), and batches are not taken. Its tools are the ' +
          'operations of this document, under the same keys, scopes and rate limit; the plan is not asked for. What a tool ' +
          'refuses is a tool result with `isError`, not a status.',
        security: [{ apiKey: ['read'] }],
        parameters: [
          {
            name: 'MCP-Protocol-Version',
            in: 'header',
            description: 'The version that the client and this server agreed on.',
            schema: { type: 'string' },
          },
        ],
        requestBody: { required: true, content: { 'application/json': { schema: message } } },
        responses: {
          '200': {
            description: 'The answer to a request.',
            headers,
            content: {
              'application/json': { schema: message },
              // The answer to `subscriptions/listen`: there is nothing to hear, so the stream begins and ends at once.
              'text/event-stream': { schema: { type: 'string' } },
            },
          },
          '202': { description: 'A notification was taken; there is no answer.', headers },
          ...errorsOf(errors),
          '400': {
            description: 'No message of the protocol, or not a valid HTTP request.',
            headers,
            content: {
              'application/json': { schema: { anyOf: [message, hoist(errorSchema)] } },
              [problemType]: { schema: hoist(problemSchema) },
            },
          },
          '404': {
            description: 'A method that this server does not offer.',
            headers,
            content: { 'application/json': { schema: message } },
          },
        },
      },
    },
  };
}

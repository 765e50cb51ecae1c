import { apiVersion, successSchema } from '../../shared/contract/envelope.js';
import type { Schema } from '../../shared/contract/published-formats.js';
import type { KeyScope } from '../../shared/database/api-keys.js';
import type { ErrorCode } from '../../shared/domain/errors.js';
import { agentOperation } from './agent-operation.js';
import { createErrorResponses } from './error-responses.js';
import type { ErrorResponses } from './error-responses.js';
import { headerRefs, responseHeaders } from './headers.js';
import { createHoist } from './hoist-schemas.js';
import type { Hoist } from './hoist-schemas.js';
import { introduction, tags } from './introduction.js';
import { operations } from './operations.js';
import type { OperationText } from './operations.js';
import { parameters, queryParameters } from './parameters.js';
import { publicOperations } from './public-operations.js';

/** What the document takes from a line of the table of routes. */
export interface DocumentedRoute {
  method: string;
  /** A pattern is only another form of a bad id, not a resource, and is left out of the document. */
  path: string | RegExp;
  scope: KeyScope;
  types?: readonly string[];
}

export interface OpenApiDocument {
  openapi: '3.1.1';
  paths: Record<string, Record<string, Schema>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Schema>; [part: string]: unknown };
  [part: string]: unknown;
}

/** The errors that any request may meet. */
const commonErrors = [
  'INVALID_INPUT',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'EXPECTATION_FAILED',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
] as const satisfies readonly ErrorCode[];
/** The errors that any request with a key may meet. */
const routeErrors = [
  ...commonErrors,
  'UNAUTHORIZED',
  'PLAN_REQUIRED',
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
] as const satisfies readonly ErrorCode[];

/**
 * The OpenAPI 3.1 document (contract §1), made from the table of routes and from the schemas that validate.
 *
 * @throws where a route is not described in `operations.ts`: a programmer's error, which a test finds first
 */
export function openApiDocument(routes: readonly DocumentedRoute[]): OpenApiDocument {
  const hoist = createHoist();
  const errors = createErrorResponses(hoist);
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    if (typeof route.path !== 'string') continue;
    const path = documentPath(route.path);
    const text = operations[`${route.method} ${path}`];
    if (text === undefined) throw new Error(`${route.method} ${path} is not described in api/reference/operations.ts`);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, text, hoist, errors) };
  }
  const errorsOf = (codes: readonly ErrorCode[]) => errors.of([...commonErrors, ...codes]);
  Object.assign(paths, agentOperation(hoist, errorsOf), publicOperations(hoist, errorsOf));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Raw materials',
      version: apiVersion,
      description: introduction,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to the document, so that it works behind a proxy that serves it under a prefix.
    servers: [{ url: '.', description: 'The service that this document comes from.' }],
    tags,
    security: [{ apiKey: [] }],
    paths,
    components: {
      schemas: hoist.schemas,
      responses: errors.components,
      parameters,
      headers: responseHeaders,
      securitySchemes: { apiKey },
    },
  };
}

/** `/a/:id` of the router is `/a/{id}` of OpenAPI. */
export function documentPath(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'rmk_…',
  description:
    'Authorization: Bearer <API_KEY>. A key belongs to one shop and has the scope read or write; write includes read. ' +
    'The role that an operation names is the scope that it needs.',
};

function operation(route: DocumentedRoute, text: OperationText, hoist: Hoist, errors: ErrorResponses): Schema {
  const query = text.query === undefined ? [] : queryParameters(text.query, hoist);
  const named = text.parameters.map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return {
    operationId: text.operationId,
    tags: [text.tag],
    summary: text.summary,
    description: text.description,
    security: [{ apiKey: [route.scope] }],
    parameters: [...named, ...query],
    ...(text.body !== undefined && { requestBody: requestBody(route, text.body, hoist) }),
    responses: {
      '200': success(text, hoist),
      ...errors.of([...routeErrors, ...text.errors]),
    },
  };
}

function requestBody({ types = [] }: DocumentedRoute, body: NonNullable<OperationText['body']>, hoist: Hoist): Schema {
  const media = { schema: hoist(body.schema), examples: body.examples };
  return { required: true, content: Object.fromEntries(types.map((type) => [type, media])) };
}

function success({ data, headers, examples, summary }: OperationText, hoist: Hoist): Schema {
  const [first = {}] = data;
  const schema = successSchema(data.length === 1 ? first : { anyOf: data });
  return {
    description: `${summary}: done.`,
    headers: headerRefs(['X-Request-Id', 'RateLimit-Policy', 'RateLimit', ...headers]),
    content: { 'application/json': { schema: hoist(schema), examples } },
  };
}

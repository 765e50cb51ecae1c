import type { Answer, Asked } from '../../support/http/http.js';
import type { Schema } from './values.js';

/** A parameter of an operation, as the document has it. */
export interface PublishedParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
}

/** What can be asked of the service: an operation of the document, or a call of a tool that /mcp lists. */
export interface PublishedOperation {
  /** `PATCH /v1/…`, or `tool adjust_inventory`. */
  name: string;
  method: string;
  template: string;
  parameters: PublishedParameter[];
  body?: { types: string[]; schema: Schema };
  isSecured: boolean;
  changes: boolean;
  /** The schema of a tool's structured content. */
  output?: Schema;
}

export interface Published {
  operations: PublishedOperation[];
  /** What `$ref` leads to. */
  resolve: (schema: Schema) => Schema;
}

interface Document {
  paths: Record<string, Record<string, DocumentOperation>>;
  components: Record<string, Record<string, Schema>>;
}

interface DocumentOperation {
  parameters?: (PublishedParameter & Schema)[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  security: object[];
}

interface Tool {
  name: string;
  inputSchema: Schema;
  outputSchema: Schema;
  annotations: { readOnlyHint: boolean };
}

/**
 * Everything that the running service says it can be asked, from its own `/openapi.json` and its list of tools: a route
 * that is added tomorrow is asked tomorrow.
 *
 * @param key one that may write, or the tools that write would not be listed
 */
export async function readPublished(ask: (asked: Asked) => Promise<Answer>, key: string): Promise<Published> {
  const document = (await ask({ path: '/openapi.json' })).body as Document;
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const listed = await ask({ method: 'POST', path: '/mcp', key, body: list });
  const { tools } = (listed.body as { result: { tools: Tool[] } }).result;
  const resolve = (schema: Schema): Schema => {
    if (typeof schema.$ref !== 'string') return schema;
    const [, , part = '', name = ''] = schema.$ref.split('/');
    const found = document.components[part]?.[name];
    if (found === undefined) throw new Error(`${schema.$ref} is not in the document`);
    return resolve(found);
  };
  const operations = Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => toOperation(method.toUpperCase(), template, operation, resolve)),
  );
  const post = operations.find(({ template }) => template === '/mcp');
  if (post === undefined || tools.length === 0) throw new Error('the service has no tools');
  // The document leaves the methods of the protocol to the protocol.
  post.body = { types: post.body?.types ?? [], schema: anyMessage };
  return { operations: [...operations, ...tools.map((tool) => toCall(post, tool))], resolve };
}

const anyMessage = {
  type: 'object',
  required: ['jsonrpc', 'method'],
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['integer', 'string'] },
    method: { enum: ['ping', 'tools/list', 'initialize', 'notifications/initialized', 'server/discover', 'x'] },
    params: { type: 'object' },
  },
};

function toOperation(
  method: string,
  template: string,
  { parameters = [], requestBody, security }: DocumentOperation,
  resolve: Published['resolve'],
): PublishedOperation {
  const content = Object.entries(requestBody?.content ?? {});
  const [first] = content;
  return {
    name: `${method} ${template}`,
    method,
    template,
    parameters: parameters.map((parameter) => resolve(parameter) as unknown as PublishedParameter),
    ...(first !== undefined && { body: { types: content.map(([type]) => type), schema: first[1].schema } }),
    isSecured: security.length > 0,
    changes: method === 'PATCH',
  };
}

/** A message of the protocol that calls one tool, as a body. */
function toCall(post: PublishedOperation, { name, inputSchema, outputSchema, annotations }: Tool): PublishedOperation {
  const params = {
    type: 'object',
    required: ['name', 'arguments'],
    properties: { name: { const: name }, arguments: inputSchema },
    additionalProperties: false,
  };
  const schema = {
    type: 'object',
    required: ['jsonrpc', 'id', 'method', 'params'],
    properties: { jsonrpc: { const: '2.0' }, id: { type: 'integer' }, method: { const: 'tools/call' }, params },
    additionalProperties: false,
  };
  const types = post.body?.types ?? [];
  return {
    ...post,
    name: `tool ${name}`,
    body: { types, schema },
    changes: !annotations.readOnlyHint,
    output: outputSchema,
  };
}

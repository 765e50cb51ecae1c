import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { unescapeUnreserved } from '../../../api/http/request-path.js';
import { openApiDocument } from '../../../api/reference/document.js';
import { routes } from '../../../api/rest/routes.js';
import { errorSchema } from '../../../shared/contract/envelope.js';
import { problemSchema } from '../../../shared/contract/problem.js';
import type { Answer } from './http.js';

interface Ref {
  $ref?: string;
}
interface HeaderObject {
  required?: boolean;
  schema: { type?: string };
}
interface ResponseObject {
  headers?: Record<string, HeaderObject & Ref>;
  content?: Record<string, { schema?: object }>;
}
interface OperationObject {
  parameters?: ({ name?: string; in?: string; schema?: { enum?: string[] } } & Ref)[];
  responses: Record<string, ResponseObject & Ref>;
}
type PathItem = Record<string, OperationObject>;

/** Made once a run, as by the API at its start. */
export const document = openApiDocument(routes);

/** A validator of the document's own, which knows of the service's formats only what the document says. */
const documentAjv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, allowUnionTypes: true });
addFormats.default(documentAjv);
documentAjv.addVocabulary(['components']);

/** Headers that say how an answer travels, not what it means. */
const transportHeaders = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'referrer-policy',
  'transfer-encoding',
  'x-content-type-options',
]);

const validators = new Map<object, ValidateFunction>();
const noHeaders = {};
const headersByName = new Map<object, Map<string, HeaderObject>>();
const paths = Object.entries(document.paths).map(([template, item]) => {
  const operations = item as unknown as PathItem;
  return { pattern: patternOf(template, operations), operations };
});

/** A parameter of a path matches what its enum lists, or, without one, any single step of a path. */
function patternOf(template: string, operations: PathItem): RegExp {
  const parameters = Object.values(operations).flatMap((operation) => operation.parameters ?? []);
  const source = template.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const known = parameters.find((parameter) => parameter.name === name && parameter.in === 'path')?.schema?.enum;
    return known === undefined ? '[^/]+' : `(?:${known.map((value) => value.replaceAll('.', '\\.')).join('|')})`;
  });
  return new RegExp(`^${source}$`);
}

/**
 * Holds an answer against the OpenAPI document: the status is one that the document has for this operation, the content
 * type and the body are what it says of that status, and every header with a meaning is described there. An answer to a
 * path that the document does not have can only be an error, and must have the shape of one.
 */
export function expectDocumented(asked: { method?: string; path: string }, answer: Answer): void {
  const { method = 'GET', path } = asked;
  const pathname = unescapeUnreserved(path.split('?')[0] ?? '');
  const { status } = answer;
  const where = `${method} ${pathname} ${String(status)}`;
  const type = String(answer.headers['content-type']);
  const operations = paths.find(({ pattern }) => pattern.test(pathname))?.operations;
  if (operations === undefined) {
    expect(status, `${where}: the path is not in the document`).to.be.at.least(400);
    if (method !== 'HEAD') expectValid(where, type.includes('problem') ? problemSchema : errorSchema, answer.body);
    return;
  }
  // All methods of a path describe alike what it answers to a method that it does not have.
  const operation = operations[method.toLowerCase()] ?? Object.values(operations)[0];
  const known = operation?.responses[String(status)];
  if (known === undefined)
    throw new Error(`${where}: this status is not among the errors of api/reference/operations.ts; ${answer.text}`);
  const response = resolve(known);
  expectHeaders(where, response.headers ?? noHeaders, answer);
  if (method === 'HEAD' || answer.headers['content-length'] === '0' || status === 304) return;
  const content = response.content ?? {};
  const media = content[type] ?? content[type.replace(/;.*/, '')];
  if (media === undefined) throw new Error(`${where}: the document does not have ${type}`);
  if (type.includes('json') && answer.headers['content-encoding'] === undefined) expectBody(where, media, answer);
}

function expectHeaders(where: string, described: Record<string, HeaderObject & Ref>, { headers }: Answer): void {
  const byName = headersOf(described);
  for (const [name, { required = false, schema }] of byName) {
    const value = headers[name];
    if (value !== undefined)
      expectValid(`${where}: ${name}`, schema, schema.type === 'integer' ? Number(value) : value);
    else if (required) expect.fail(`${where}: ${name} is missing`);
  }
  const unknown = Object.keys(headers).filter((name) => !transportHeaders.has(name) && !byName.has(name));
  if (unknown.length > 0) expect.fail(`${where}: headers that the document does not have: ${unknown.join(', ')}`);
}

/** The headers of a response under their names as answers have them. */
function headersOf(described: Record<string, HeaderObject & Ref>): Map<string, HeaderObject> {
  let byName = headersByName.get(described);
  if (byName === undefined) {
    byName = new Map(Object.entries(described).map(([name, header]) => [name.toLowerCase(), resolve(header)]));
    headersByName.set(described, byName);
  }
  return byName;
}

function expectBody(where: string, { schema = {} }: { schema?: object }, { body, text }: Answer): void {
  expect(body, `${where}: ${text} is no JSON`).to.not.equal(undefined);
  expectValid(where, schema, body);
}

/** Fails where a value is not of a schema of the document. */
export function expectValid(what: string, schema: object, value: unknown): void {
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = documentAjv.compile({ ...schema, components: { schemas: document.components.schemas } });
    validators.set(schema, validate);
  }
  if (validate(value)) return;
  // Its text is made only where it is needed: this runs for every reply, and a fuzz has millions.
  expect.fail(`${what}: ${documentAjv.errorsText(validate.errors)} in ${JSON.stringify(value)}`);
}

function resolve<T extends object>(value: T & Ref): T {
  if (value.$ref === undefined) return value;
  const [, , part = '', name = ''] = value.$ref.split('/');
  const found = (document.components[part] as Record<string, T> | undefined)?.[name];
  if (found === undefined) throw new Error(`${value.$ref} is not in the document`);
  return found;
}

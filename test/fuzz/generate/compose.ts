import type { Dice } from '../../support/dice.js';
import { badIds, impossibleIds, unknownVirtualIds } from '../../support/http/material-paths.js';
import { composeBody } from './compose-body.js';
import type { PublishedOperation, PublishedParameter } from './published.js';
import { nearlyValid, wildValue } from './spoil.js';
import { validValue } from './values.js';
import type { ValueDeps } from './values.js';

/** A request as bytes: well framed, whatever it says. */
export interface Composed {
  method: string;
  path: string;
  bytes: Buffer;
}

export interface ComposeDeps extends ValueDeps {
  variantIds: readonly string[];
  writeKey: string;
  readKey: string;
}

/** How far what is sent is from what the document describes. */
export type Strain = 'valid' | 'near' | 'wild';

/** Which parts of a request are off. */
interface Faults {
  path: boolean;
  query: boolean;
  headers: boolean;
  body: boolean;
}

export function composeRequest(deps: ComposeDeps, operation: PublishedOperation, strain: Strain): Composed {
  const { dice } = deps;
  const faults = chooseFaults(dice, strain);
  const strange = strain === 'wild' && dice.chance(0.1);
  const method = strange
    ? dice.pick(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])
    : operation.method;
  const path = composePath(deps, operation, faults) + composeQuery(deps, operation, faults.query);
  const body = composeBody(deps, operation, faults.body);
  const headers = composeHeaders(deps, operation, faults.headers);
  const head = Object.entries({ ...headers, ...body.headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return {
    method,
    path,
    bytes: Buffer.concat([
      Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: fuzz\r\n${head.join('')}\r\n`, 'latin1'),
      body.bytes,
    ]),
  };
}

function chooseFaults(dice: Dice, strain: Strain): Faults {
  const none: Faults = { path: false, query: false, headers: false, body: false };
  if (strain === 'valid') return none;
  const part = dice.pick(['path', 'query', 'headers', 'body', 'body', 'body'] as const);
  if (strain === 'near') return { ...none, [part]: true };
  return { path: dice.chance(0.2), query: dice.chance(0.4), headers: dice.chance(0.4), body: dice.chance(0.7) };
}

const pathSpoils = [
  '/',
  '//',
  '/x',
  '%2F',
  '%00',
  '%',
  '%zz',
  '%ED%A0%80',
  '%E0%A4%A',
  '.',
  '/..',
  ';a=1',
  '%20',
  '%0d%0a',
];

function composePath(deps: ComposeDeps, { template, parameters }: PublishedOperation, faults: Faults): string {
  const { dice, variantIds } = deps;
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const { schema = {} } = parameters.find((each) => each.in === 'path' && each.name === name) ?? {};
    if (name !== 'variantId') {
      if (schema.enum === undefined) throw new Error(`no value is known for {${name}} of ${template}`);
      return escaped(String(dice.pick(schema.enum)));
    }
    if (faults.path) return dice.pick([...badIds, ...impossibleIds, escaped(textOf(wildValue(dice)))]) || 'x';
    return deps.isOnlyKnown !== true && dice.chance(0.1) ? dice.pick(unknownVirtualIds) : dice.pick(variantIds);
  });
  if (!faults.path || dice.chance(0.6)) return path;
  const at = 1 + dice.below(path.length);
  return path.slice(0, at) + dice.pick(pathSpoils) + path.slice(at);
}

function composeQuery(deps: ComposeDeps, { parameters }: PublishedOperation, isOff: boolean): string {
  const { dice } = deps;
  const pairs = parameters
    .filter((parameter) => parameter.in === 'query' && dice.chance(0.4))
    .flatMap((parameter) => queryPairs(deps, parameter, isOff && dice.chance(0.5)));
  if (isOff) pairs.push(dice.pick(queryStrangers));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

const queryStrangers = [
  '',
  'x=1',
  'dryrun=true',
  'page=9e15',
  'page=1&page=2',
  'pageSize=1001',
  '=',
  '%00=1',
  'a=%zz',
].concat([
  'search=%00',
  'search=%ED%A0%80',
  'cursor=x',
  'limit=0',
  'from=2026-02-30',
  '__proto__=1',
  'locationIds=',
  '&'.repeat(1_100),
]);

function queryPairs(deps: ComposeDeps, { name, schema }: PublishedParameter, isOff: boolean): string[] {
  const value = isOff ? nearlyValid(deps, schema, name) : validValue(deps, schema, name);
  const texts = Array.isArray(value) ? value : [value];
  return texts.map((each: unknown) => `${name}=${escaped(textOf(each)).slice(0, 900)}`);
}

const accepts = [
  'application/json',
  'application/problem+json',
  '*/*;q=0',
  'text/html',
  'application/problem+json;q=0',
  ',',
];
const tags = ['"1"', '"2"', '*', 'W/"1"', '"', '"1",,"x"', '1', `"${'x'.repeat(500)}"`];
const preferences = [
  'return=representation',
  'handling=lenient',
  'return="representation"; a=b, handling=lenient',
  '=,;"',
];

/** Headers that some operation reads, beside those that the document gives this one. */
const strangers: Record<string, readonly string[]> = {
  Accept: accepts,
  'Accept-Encoding': ['gzip', 'gzip;q=0', 'br', '*'],
  'If-Match': tags,
  'If-None-Match': tags,
  Prefer: preferences,
  'Idempotency-Key': ['a', '"b"', '', '"', 'a b', 'ä', 'x'.repeat(256)],
  'X-Request-Id': ['00000000-0000-4000-8000-000000000000'],
  'X-Forwarded-For': ['203.0.113.9', '::1, x'],
  'MCP-Protocol-Version': ['2025-11-25', '2026-07-28', 'x'],
  Expect: ['100-continue'],
  Connection: ['close', 'keep-alive', 'Upgrade'],
  Upgrade: ['websocket', 'h2c'],
  Cookie: ['a=b'],
};

function composeHeaders(deps: ComposeDeps, operation: PublishedOperation, isOff: boolean): Record<string, string> {
  const { dice } = deps;
  const headers: Record<string, string> = { ...authorization(deps, operation, isOff && dice.chance(0.3)) };
  for (const parameter of operation.parameters) {
    if (parameter.in !== 'header' || !dice.chance(0.15)) continue;
    const { name, schema } = parameter;
    const value =
      strangers[name] !== undefined && dice.chance(0.7) ? dice.pick(strangers[name]) : validValue(deps, schema, name);
    headers[name] = sendable(textOf(value));
  }
  if (!isOff && !dice.chance(0.1)) return headers;
  const name = dice.pick(Object.keys(strangers));
  headers[name] = sendable(isOff && dice.chance(0.3) ? textOf(wildValue(dice)) : dice.pick(strangers[name] ?? ['']));
  return headers;
}

/** Nearly always a good key, because what there is to find lies behind it. */
function authorization(
  deps: ComposeDeps,
  { isSecured, changes }: PublishedOperation,
  isOff: boolean,
): Record<string, string> {
  const { dice, writeKey, readKey } = deps;
  if (isOff) {
    const texts = [
      '',
      'Bearer',
      `Bearer ${readKey}x`,
      `bearer ${writeKey}`,
      `Basic ${readKey}`,
      `Bearer ${readKey.slice(0, -1)}`,
    ];
    return dice.chance(0.3) ? {} : { Authorization: dice.pick(texts) };
  }
  if (!isSecured && dice.chance(0.8)) return {};
  return {
    Authorization: `Bearer ${changes ? (dice.chance(0.97) ? writeKey : readKey) : dice.pick([writeKey, readKey])}`,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const loneSurrogate = /\p{Cs}/u;

/** Percent-encoded as UTF-8, also where a surrogate stands alone. */
function escaped(text: string): string {
  return loneSurrogate.test(text) ? '%ED%A0%80' : encodeURIComponent(text);
}

/** A field value may hold any byte but control characters (RFC 9110 §5.5). */
function sendable(text: string): string {
  return text
    .replaceAll(/[^\x20-\x7e\x80-\xff]/g, '')
    .trim()
    .slice(0, 2_000);
}

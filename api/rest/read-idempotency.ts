import { refuseAt } from '../../shared/contract/faults.js';
import type { QueryParameters } from '../../shared/contract/read-query.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import type { Idempotency } from '../../shared/domain/operation.js';
import type { RouteRequest } from '../http/route.js';
import { canonicalJson, idempotencyOf } from '../operations/idempotency.js';
import { entityTag, readIfMatch } from './entity-tag.js';
import { preferenceApplied, readPreferences } from './preferences.js';

/**
 * The idempotency that an `Idempotency-Key` gives a write (contract §7): the scope in which the key is remembered, and
 * a sum of everything that gives the request its meaning. Undefined without the header; INVALID_INPUT if it is no key.
 */
export function readIdempotency(request: RouteRequest): Result<Idempotency | undefined> {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return succeed(undefined);
  const key = idempotencyKey(String(header));
  if (key === undefined) return badKey;
  const { caller, method, path, body, headers } = request;
  // The preferences in one spelling, because proxies may change their order and blanks.
  const preferred = preferenceApplied(readPreferences(headers['prefer'])) ?? '';
  const meaning = [canonicalJson(body), queryMeaning(request.query), preferred, preconditionOf(headers['if-match'])];
  return succeed(idempotencyOf({ shopId: caller.shop.id, method, path, key }, meaning));
}

/** `dryRun=false` is what no query means. What else a write's query may hold was read before. */
function queryMeaning(query: QueryParameters): string {
  const said = [...query].filter(([name, [value]]) => !(name === 'dryRun' && value === 'false'));
  return said.length === 0 ? '' : canonicalJson(Object.fromEntries(said));
}

const badKey = refuseAt(
  'Idempotency-Key',
  'There must be one Idempotency-Key, of 1 to 255 visible ASCII characters, bare or in double quotes.',
);

/** Bare or as the quoted string of draft-ietf-httpapi-idempotency-key-header; undefined for anything else. */
export function idempotencyKey(header: string): string | undefined {
  const [, quoted] = /^"(.*)"$/.exec(header) ?? [];
  const key = quoted ?? header;
  return /^[\x21-\x7e]{1,255}$/.test(key) ? key : undefined;
}

/** Stands for every list of tags that match no version. */
const neverGiven = '""';

/** The same text for all spellings of the same `If-Match`. */
function preconditionOf(header: string | undefined): string {
  if (header === undefined) return '';
  const read = readIfMatch(header);
  if (!read.ok) return header;
  if (read.data === undefined) return '*';
  return read.data.length === 0 ? neverGiven : read.data.map(entityTag).join(', ');
}

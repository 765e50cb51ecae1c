import { refuseInput } from '../../shared/contract/faults.js';
import { queryParametersMax } from '../../shared/contract/read-query.js';
import type { QueryParameters } from '../../shared/contract/read-query.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';
import { decodeText } from './decode-text.js';

const none: Result<QueryParameters> = succeed(new Map());

/**
 * Decodes a query. Unlike `URLSearchParams`, which makes U+FFFD of what it cannot decode, a bad escape and a text that
 * cannot be stored are INVALID_INPUT (reliability §1).
 */
export function parseQuery(querystring: string): Result<QueryParameters> {
  if (querystring === '') return none;
  const pairs = querystring.split('&');
  if (pairs.length > queryParametersMax) return refused('query', `Has more than ${queryParametersMax} parameters.`);
  const parameters = new Map<string, string[]>();
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = decode(equals === -1 ? '' : pair.slice(equals + 1));
    if (name === undefined || value === undefined) {
      return refused(name ?? 'query', 'Is not percent-encoded UTF-8 without U+0000.');
    }
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [value]);
    else values.push(value);
  }
  return succeed(parameters);
}

function decode(part: string): string | undefined {
  return decodeText(part.replaceAll('+', ' '));
}

/**
 * @param path the name of the parameter at fault; `query` if that cannot be decoded, or if the whole query is at fault
 */
function refused(path: string, message: string): Result<QueryParameters> {
  return refuseInput('query', [{ path, message }]);
}

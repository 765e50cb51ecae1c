import type { ErrorObject } from 'ajv';
import type { ErrorDetail, Refusal } from '../domain/errors.js';
import { fail } from '../domain/errors.js';

/** Faults listed for a request. Beyond this number a batch still lists one for each further bad row (contract §3.2). */
export const detailsMax = 100;

/**
 * What Ajv found, as sentences a person can act on: one for each fault, without the noise of the branches of a `oneOf`.
 *
 * @param base a JSON Pointer to the value that was checked; empty for the body itself
 */
export function faultsOf(errors: readonly ErrorObject[], base = ''): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  for (const error of errors) {
    if (error.schemaPath.includes('/oneOf/')) continue;
    const path = base + pathOf(error);
    const message = sentenceOf(error);
    if (!faults.some((known) => known.path === path && known.message === message)) faults.push({ path, message });
    if (faults.length === detailsMax) break;
  }
  return faults;
}

/** A longer key of the client's own is cut: a mebibyte of `~` took 150 ms to be escaped, and two to be answered. */
const keyShownMax = 255;

/**
 * A step of a JSON Pointer (RFC 6901). A pointer is Unicode: half of a surrogate pair in a key becomes U+FFFD, because
 * strict parsers would refuse the whole answer for it.
 */
export function pointerStep(key: string | number): string {
  const name = String(key);
  const shown = name.length > keyShownMax ? `${name.slice(0, keyShownMax)}…` : name;
  return `/${shown.toWellFormed().replace(/~/g, '~0').replace(/\//g, '~1')}`;
}

/**
 * The refusal of a request with one fault, whose sentence stands for itself (contract §2 `details`): message and detail
 * are the same.
 *
 * @param path of `ErrorDetail`; empty for the whole body
 */
export function refuseAt(path: string, message: string): Refusal {
  return fail('INVALID_INPUT', message, { details: [{ path, message }] });
}

/** A longer path, such as that of a key that the client made up, is shown in the details alone. */
const pathShownMax = 100;

/**
 * The refusal of a request with these faults, at least one (contract §5, INVALID_INPUT). A single one stands in the
 * message too: many clients show nothing else.
 */
export function refuseInput(what: string, details: ErrorDetail[]): Refusal {
  return fail('INVALID_INPUT', summaryOf(what, details), { details });
}

function summaryOf(what: string, details: readonly ErrorDetail[]): string {
  const [first] = details;
  if (details.length === 1 && first !== undefined && first.path.length <= pathShownMax) {
    const place = first.path === '' || first.path === what ? '' : ` at ${first.path}`;
    return `The ${what} has a fault${place}: ${first.message}`;
  }
  const most = details.length < detailsMax ? '' : 'at least ';
  return `The ${what} has ${details.length === 1 ? 'a fault' : `${most}${details.length} faults`}; see details.`;
}

function pathOf({ instancePath, keyword, params }: ErrorObject): string {
  if (keyword === 'required') return instancePath + pointerStep(params['missingProperty'] as string);
  if (keyword === 'additionalProperties') return instancePath + pointerStep(params['additionalProperty'] as string);
  return instancePath;
}

function sentenceOf({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `Must be ${[params['type'] as string | string[]].flat().map(nameOfType).join(' or ')}.`;
    case 'required':
      return 'Is required.';
    case 'additionalProperties':
      return 'Is not a known field here.';
    case 'oneOf':
      // Of what clients send, only a row of a batch has a `oneOf`.
      return 'Must carry exactly one of delta and absolute.';
    case 'enum':
      return `Must be one of ${(params['allowedValues'] as string[]).join(', ')}.`;
    case 'minimum':
      return `Must be at least ${String(params['limit'])}.`;
    case 'maximum':
      return `Must be at most ${String(params['limit'])}.`;
    case 'minLength':
      return 'Must not be empty.';
    case 'maxLength':
      return `Must have at most ${String(params['limit'])} characters.`;
    case 'minItems':
      return `Must hold at least ${String(params['limit'])} value${params['limit'] === 1 ? '' : 's'}.`;
    case 'maxItems':
      return `Must hold at most ${String(params['limit'])} values.`;
    case 'pattern':
      // Of what clients send, only the `idempotencyKey` of a tool has a `pattern`.
      return 'Must be 1 to 255 visible ASCII characters.';
    case 'format':
      return sentenceByFormat[params['format'] as string] ?? `Must be a valid ${String(params['format'])}.`;
    default:
      return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  }
}

const sentenceByFormat: Record<string, string> = {
  text: 'Must hold neither U+0000 nor half of a surrogate pair.',
  'http-url': 'Must be an http or https address without blanks.',
  moment: 'Must be an ISO 8601 date, or a time with its offset from UTC, such as 2026-01-31T13:45:00Z.',
  uuid: 'Must be a UUID.',
};

const namesOfTypes: Record<string, string> = {
  string: 'a string',
  number: 'a finite number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

function nameOfType(type: string): string {
  return namesOfTypes[type] ?? type;
}

import { fail } from '../../../shared/domain/errors.js';
import type { Reply } from '../request-state.js';

export const jsonType = 'application/json';
export const mergePatchType = 'application/merge-patch+json';

/**
 * Whether a body of this type is taken: one of the route's types, as UTF-8, in which JSON always is (RFC 8259 §8.1).
 * Parameters other than `charset` mean nothing.
 */
export function isTaken(contentType: string | undefined, types: readonly string[]): boolean {
  if (contentType === undefined) return false;
  if (types.includes(contentType)) return true;
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  return types.includes(trimmed(type)) && parameters.every(isHarmless);
}

/** 415, with the types that would be taken (RFC 5789 §2.2). */
export function unsupportedType(types: readonly string[]): Reply {
  const accepted = types.join(', ');
  return {
    result: fail('UNSUPPORTED_MEDIA_TYPE', `Send a JSON object with Content-Type: ${types.join(' or ')}, as UTF-8.`),
    headers: { 'Accept-Patch': accepted },
  };
}

/** Without the white space that HTTP knows: the parser of the body would not take another (U+00A0) for it. */
function trimmed(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

function isHarmless(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=');
  return trimmed(name) !== 'charset' || /^"?utf-?8"?$/.test(trimmed(value));
}

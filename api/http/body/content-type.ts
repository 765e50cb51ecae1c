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
  return types.includes(type.trim()) && parameters.every(isHarmless);
}

/** 415, with the types that would be taken (RFC 5789 §2.2). */
export function unsupportedType(types: readonly string[]): Reply {
  const accepted = types.join(', ');
  return {
    result: fail('UNSUPPORTED_MEDIA_TYPE', `Send a JSON object with Content-Type: ${types.join(' or ')}, as UTF-8.`),
    headers: { 'Accept-Patch': accepted },
  };
}

function isHarmless(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=');
  return name.trim() !== 'charset' || /^\s*"?utf-?8"?\s*$/.test(value);
}

import { isJsonObject } from '../../../shared/contract/json-object.js';

/** A message of the protocol has some twenty; a tool's argument may be an object of up to 32 fields. */
export const messageBreadthMax = 1_000;

/**
 * Whether a message holds more members and items, over all its levels, than any that is meant: the protocol's library
 * makes a fault of each bad one, at 70 µs, and a megabyte may have half a million. The rows of a batch are not counted,
 * which the library hands on unseen, and which their own reader bounds.
 */
export function isTooBroad(message: Record<string, unknown>): boolean {
  const rows = rowsOf(message);
  let held = 0;
  const pending: unknown[] = [message];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value === rows || typeof value !== 'object' || value === null) continue;
    const inside: unknown[] = Array.isArray(value) ? value : Object.values(value);
    held += inside.length;
    if (held > messageBreadthMax) return true;
    pending.push(...inside);
  }
  return false;
}

/** `params.arguments.updates`, if they are rows. */
function rowsOf({ params }: Record<string, unknown>): unknown[] | undefined {
  const given = isJsonObject(params) && isJsonObject(params['arguments']) ? params['arguments']['updates'] : undefined;
  return Array.isArray(given) ? given : undefined;
}

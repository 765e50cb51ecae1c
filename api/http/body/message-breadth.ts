import { isJsonObject } from '../../../shared/contract/json-object.js';

/** Members and items of one message. The protocol's own have some twenty; an argument may be an object of 32 fields. */
export const messageBreadthMax = 1_000;

/**
 * Whether a message holds more members and items, over all its levels, than any sensible one. The protocol's library
 * takes 70 µs for each bad one, and a megabyte may have half a million of them. The rows of a batch are not counted:
 * the library hands them on unseen, and their own reader bounds them.
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

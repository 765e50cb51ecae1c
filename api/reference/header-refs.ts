import type { HeaderName } from './headers.js';
import type { Schema } from '../../shared/contract/published-formats.js';

/** `headers` of a response: a `$ref` for each. */
export function headerRefs(names: readonly HeaderName[]): Record<string, Schema> {
  return Object.fromEntries(
    names.map((name) => [name.replace(/^File-/, ''), { $ref: `#/components/headers/${name}` }]),
  );
}

import { publishFormat } from '../../shared/contract/published-formats.js';
import type { Schema } from '../../shared/contract/published-formats.js';

/** A schema of the contract as clients see it: the one that checks, but with formats that clients know. */
export function publishedSchema(schema: Schema): Schema {
  return publish(schema) as Schema;
}

function publish(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(publish);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(publishFormat(part as Schema)).map(([key, value]) => [key, publish(value)]));
}

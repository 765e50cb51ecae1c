import { isJsonObject } from '../../shared/contract/json-object.js';
import { publishFormat } from '../../shared/contract/published-formats.js';
import type { Schema } from '../../shared/contract/published-formats.js';

export interface Hoist {
  /** As the document shows it: the schema and each part of it that has a title is a `$ref` to `components/schemas`. */
  (schema: Schema): Schema;
  /** What was hoisted so far, by title. */
  schemas: Record<string, Schema>;
}

/**
 * Moves the contract's schemas into `components/schemas` under their titles, so that a generated client has a name for
 * each. It throws if two different schemas have one title: a programmer's error, seen at the first start.
 */
export function createHoist(): Hoist {
  const schemas: Record<string, Schema> = {};
  const sources = new Map<string, Schema>();
  const hoist = (schema: Schema): Schema => {
    const { title } = schema;
    if (typeof title !== 'string') return copy(schema);
    const source = sources.get(title);
    if (source === undefined) {
      sources.set(title, schema);
      // Reserved before its parts are hoisted, so that a schema comes before its parts in the document.
      schemas[title] = {};
      schemas[title] = copy(schema);
    } else if (source !== schema && JSON.stringify(source) !== JSON.stringify(schema)) {
      throw new Error(`two schemas are called ${title}`);
    }
    return { $ref: `#/components/schemas/${title}` };
  };
  const copy = (schema: Schema): Schema => {
    const entries = Object.entries(schema).map(([key, value]) => [key, part(key, value)] as const);
    return publishFormat(inDouble(Object.fromEntries(entries)));
  };
  const part = (key: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown) => (isJsonObject(item) ? hoist(item) : item));
    if (!isJsonObject(value) || literals.has(key)) return value;
    if (key !== 'properties') return hoist(value);
    return Object.fromEntries(Object.entries(value).map(([name, property]) => [name, hoist(property as Schema)]));
  };
  return Object.assign(hoist, { schemas });
}

/**
 * Without a format, usual generators (Go, Julia) hold a number in 32 bits, in which 16,777,217 becomes 16,777,216: a
 * level that is read, and sent back as `absolute`, would be another one.
 */
function inDouble(schema: Schema): Schema {
  const isNumber = [schema['type']].flat().includes('number');
  return isNumber ? { format: 'double', ...schema } : schema;
}

/** Keywords whose value is data and no schema, whatever it looks like. */
const literals = new Set(['const', 'default', 'enum', 'example', 'examples']);

import type { Dice } from '../../support/dice.js';

/** As much of JSON Schema as the service's own documents use. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  format?: string;
  pattern?: string;
}

export interface ValueDeps {
  dice: Dice;
  resolve: (schema: Schema) => Schema;
  /** Texts that mean something to the service under this name: ids of the shop, of a location. */
  known: (name: string) => readonly string[] | undefined;
  /** Whether nothing else is sent where there are such texts. */
  isOnlyKnown?: boolean;
}

/**
 * A value of the schema, as far as the schema says it; edges and empty parts more often than chance would have them.
 */
export function validValue(deps: ValueDeps, given: Schema, name = ''): unknown {
  const { dice } = deps;
  const schema = deps.resolve(given);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return dice.pick(schema.enum);
  const known = deps.known(name);
  if (known !== undefined && typeOf(deps, schema) === 'string' && (deps.isOnlyKnown === true || dice.chance(0.8)))
    return dice.pick(known);
  const branches = schema.anyOf ?? (schema.properties === undefined ? schema.oneOf : undefined);
  if (branches !== undefined) return validValue(deps, dice.pick(branches), name);
  switch (typeOf(deps, schema)) {
    case 'object':
      return validObject(deps, schema);
    case 'array':
      return Array.from({ length: arrayLength(dice, schema) }, () => validValue(deps, schema.items ?? {}, name));
    case 'integer':
      return Math.trunc(numberWithin(dice, schema));
    case 'number':
      return numberWithin(dice, schema);
    case 'boolean':
      return dice.chance(0.5);
    case 'null':
      return null;
    default:
      return validText(dice, schema);
  }
}

function typeOf({ dice }: ValueDeps, { type, properties, items }: Schema): string {
  if (Array.isArray(type)) return dice.pick(type);
  return type ?? (properties === undefined ? (items === undefined ? 'string' : 'array') : 'object');
}

function validObject(deps: ValueDeps, schema: Schema): Record<string, unknown> {
  const { dice } = deps;
  const { properties = {}, required = [], oneOf = [] } = schema;
  // The branches only say what must be there: one is chosen, and what only the others require is left out.
  const branch = oneOf.length === 0 ? [] : (dice.pick(oneOf).required ?? []);
  const others = new Set(oneOf.flatMap((each) => each.required ?? []).filter((each) => !branch.includes(each)));
  const names = Object.keys(properties).filter(
    (name) => required.includes(name) || branch.includes(name) || (!others.has(name) && dice.chance(0.3)),
  );
  return Object.fromEntries(names.map((name) => [name, validValue(deps, properties[name] ?? {}, name)]));
}

function arrayLength(dice: Dice, { minItems = 0, maxItems = 20 }: Schema): number {
  if (dice.chance(0.01)) return maxItems;
  return Math.min(maxItems, minItems + dice.below(dice.chance(0.2) ? 12 : 3));
}

function numberWithin(dice: Dice, { minimum = -1e6, maximum = 1e6 }: Schema): number {
  switch (dice.below(8)) {
    case 0:
      return minimum;
    case 1:
      return maximum;
    case 2:
      return Math.max(minimum, 0);
    case 3:
      return minimum + (maximum - minimum) * (dice.below(1e9) / 1e9);
    default:
      return Math.min(maximum, Math.max(minimum, (dice.below(200_000) - 50_000) / dice.pick([1, 10, 1_000, 1e7])));
  }
}

const moments = ['2026-01-31', '2026-01-31T13:45:00Z', '2020-02-29T00:00:00.123456789+14:00', '9999-12-31T23:59:59Z'];
const addresses = ['https://example.com/a.png', 'http://[::1]:1/ä?#x'];
const tags = ['"1"', '*', 'W/"1", "2"'];
const letters = ['a', 'Z', '7', ' ', '%', '_', '\\', '"', "'", 'é', '€', '𝄞', '\t', '\u202e', '<', '\u2028', '.', '-'];

function validText(dice: Dice, { format, pattern, minLength = 0, maxLength = 40 }: Schema): string {
  if (format === 'uuid')
    return dice.pick(['00000000-0000-4000-8000-000000000000', '019ab8f2-6c00-7d3a-8f21-4b5c6d7e8f90']);
  if (format === 'moment' || format === 'date-time') return dice.pick(moments);
  if (format === 'http-url' || format === 'uri') return dice.pick(addresses);
  const length = dice.chance(0.02) ? maxLength : Math.min(maxLength, minLength + dice.below(12));
  if (pattern !== undefined) {
    const key = 'k'.repeat(Math.max(1, Math.min(3, length))) + String(dice.below(30));
    const fitting = [key, ...moments, ...addresses, ...tags].filter((text) => new RegExp(pattern, 'u').test(text));
    // A key fits the pattern of keys; so would the others.
    return fitting.includes(key) ? key : dice.pick(fitting);
  }
  let text = '';
  while (text.length < length) text += dice.pick(letters);
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, 'x');
}

import type { Dice } from '../../support/dice.js';
import { validValue } from './values.js';
import type { Schema, ValueDeps } from './values.js';

/** Names that have tripped up programs before. */
const strangeNames = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  'a\u0000b',
  'expectd',
  'x'.repeat(300),
];

const strangeValues: unknown[] = [
  null,
  true,
  0,
  -1,
  -0,
  1.5,
  5e-324,
  1e308,
  2 ** 53,
  1_000_000_000.0000001,
  '',
  '0',
  'NaN',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00x',
  '\ufeff',
  'x'.repeat(256),
  'x'.repeat(10_001),
  "'; DROP TABLE materials; --",
  '${jndi:ldap://x}',
  '../../etc/passwd',
  [],
  {},
  [[]],
  [null],
  { $ref: '#' },
];

/** One fault in an otherwise valid value: somewhere inside, or of the whole. */
export function nearlyValid(deps: ValueDeps, schema: Schema, name = ''): unknown {
  return spoil(deps, validValue(deps, schema, name), schema);
}

/** Any JSON at all. */
export function wildValue(dice: Dice, depth = 0): unknown {
  if (depth > 4 || dice.chance(0.5)) return dice.pick(strangeValues);
  if (dice.chance(0.5)) return Array.from({ length: dice.below(6) }, () => wildValue(dice, depth + 1));
  const entries = Array.from({ length: dice.below(6) }, () => [strangeName(dice), wildValue(dice, depth + 1)] as const);
  return Object.fromEntries(entries);
}

function spoil(deps: ValueDeps, value: unknown, given: Schema): unknown {
  const { dice } = deps;
  const schema = deps.resolve(given);
  if (Array.isArray(value)) {
    if (value.length === 0 || dice.chance(0.2)) return spoiltArray(dice, value, schema);
    const at = dice.below(value.length);
    return value.with(at, spoil(deps, value[at], schema.items ?? {}));
  }
  if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value);
    if (names.length === 0 || dice.chance(0.3)) return spoiltObject(dice, value as Record<string, unknown>);
    const name = dice.pick(names);
    const inner = (value as Record<string, unknown>)[name];
    return { ...value, [name]: spoil(deps, inner, schema.properties?.[name] ?? {}) };
  }
  return dice.chance(0.4) ? beyond(dice, schema) : dice.pick(strangeValues);
}

function spoiltArray(dice: Dice, value: readonly unknown[], { maxItems = 0 }: Schema): unknown {
  switch (dice.below(4)) {
    case 0:
      return [];
    case 1:
      return [...value, dice.pick(strangeValues)];
    case 2:
      return maxItems === 0
        ? value
        : Array.from({ length: maxItems + 1 }, (_, index) => value[index % value.length] ?? 0);
    default:
      return Object.fromEntries(value.entries());
  }
}

function spoiltObject(dice: Dice, value: Record<string, unknown>): unknown {
  const names = Object.keys(value);
  switch (dice.below(3)) {
    case 0: {
      const gone = names.length === 0 ? '' : dice.pick(names);
      return Object.fromEntries(Object.entries(value).filter(([name]) => name !== gone));
    }
    case 1:
      // fromEntries makes an own property even of __proto__.
      return Object.fromEntries([...Object.entries(value), [strangeName(dice), dice.pick(strangeValues)]]);
    default:
      return Object.entries(value);
  }
}

/** Just past what the schema takes. */
function beyond(dice: Dice, { minimum, maximum, minLength = 0, maxLength, type }: Schema): unknown {
  const isText = type === 'string' || (Array.isArray(type) && type.includes('string'));
  if (isText) return dice.chance(0.5) && minLength > 0 ? '' : 'y'.repeat((maxLength ?? 300) + 1);
  if (minimum !== undefined && dice.chance(0.5)) return minimum - dice.pick([1, 1e-6, 1e9]);
  return (maximum ?? 1e15) + dice.pick([1, 1e-6, 1e9]);
}

function strangeName(dice: Dice): string {
  return dice.chance(0.7) ? dice.pick(strangeNames) : `n${String(dice.below(5))}`;
}

import { existsSync, readFileSync } from 'node:fs';
import { ajv } from '../../shared/contract/ajv.js';
import { faultsOf } from '../../shared/contract/faults.js';
import { isJsonObject } from '../../shared/contract/json-object.js';
import { namedScenarios, scenarioNames } from './scenario.js';
import type { Scenario } from './scenario.js';

const weight = { type: 'number', exclusiveMinimum: 0, maximum: 1_000_000 };

/**
 * Each kind of request has its own fields, so each is a schema of its own: a fault then names the field and not a
 * branch.
 */
const askSchemas: Readonly<Record<string, object>> = {
  adjust: {
    properties: { ask: {}, weight, rows: { type: 'integer', minimum: 1, maximum: 1_000 } },
    required: ['rows'],
  },
  levels: { properties: { ask: {}, weight } },
  material: { properties: { ask: {}, weight } },
  list: {
    properties: {
      ask: {},
      weight,
      pageSize: { type: 'integer', minimum: 1, maximum: 1_000 },
      query: { type: 'string', pattern: '^[!-~]*$', maxLength: 1_000 },
    },
    required: ['pageSize'],
  },
};

const scenarioSchema = {
  type: 'object',
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 200 },
    materials: { type: 'integer', minimum: 1, maximum: 100_000 },
    pick: { enum: ['first', 'uniform', 'zipf'] },
    mix: {
      type: 'array',
      minItems: 1,
      maxItems: 20,
      items: {
        type: 'object',
        properties: { ask: { enum: Object.keys(askSchemas) }, weight },
        required: ['ask', 'weight'],
      },
    },
  },
  required: ['pick', 'mix'],
  additionalProperties: false,
} as const;

/**
 * A named scenario, or one from a JSON file of this shape:
 *
 * ```json { "title": "mornings", "materials": 500, "pick": "zipf", "mix": [{ "ask": "adjust", "weight": 3, "rows": 2 },
 * { "ask": "levels", "weight": 5 }, { "ask": "material", "weight": 1 }, { "ask": "list", "weight": 1, "pageSize": 50,
 * "query": "sortBy=sku" }] } ```
 *
 * `materials`: how many of the shop's take part (all by default). `pick`: `first`, `uniform` or `zipf`. `weight`: how
 * often a request comes, in proportion. `rows`: of a request, each at another of the shop's first locations.
 *
 * @throws with a sentence for each fault, by its JSON Pointer
 */
export function readScenario(nameOrPath: string): { name: string; scenario: Scenario } {
  const named = scenarioNames.find((name) => name === nameOrPath.toUpperCase());
  if (named !== undefined) return { name: named, scenario: namedScenarios[named] };
  if (!existsSync(nameOrPath)) {
    throw new Error(`--scenario takes ${scenarioNames.join(', ')} or a JSON file; there is no file ${nameOrPath}.`);
  }
  const value = parse(nameOrPath);
  const faults = faultsOfScenario(value);
  if (faults.length > 0) {
    throw new Error([`${nameOrPath} is not a scenario:`, ...faults].join('\n  '));
  }
  const scenario = { title: nameOrPath, ...(value as Omit<Scenario, 'title'>) };
  return { name: scenario.title, scenario };
}

function parse(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}

function faultsOfScenario(value: unknown): string[] {
  const found = check(scenarioSchema, value, '');
  const mix = isJsonObject(value) && Array.isArray(value['mix']) ? (value['mix'] as unknown[]) : [];
  mix.forEach((one, index) => {
    const schema = isJsonObject(one) ? askSchemas[String(one['ask'])] : undefined;
    if (schema === undefined) return;
    found.push(...check({ type: 'object', ...schema, additionalProperties: false }, one, `/mix/${index}`));
  });
  return [...new Set(found)];
}

function check(schema: object, value: unknown, base: string): string[] {
  const validate = ajv.compile(schema);
  if (validate(value)) return [];
  return faultsOf(validate.errors ?? [], base).map(
    ({ path, message }) => `${path === '' ? 'the file' : path}: ${message}`,
  );
}

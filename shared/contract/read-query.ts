import type { ValidateFunction } from 'ajv';
import { succeed } from '../domain/errors.js';
import type { ErrorDetail, Refusal, Result } from '../domain/errors.js';
import { ajv } from './ajv.js';
import { batchQuerySchema } from './batch-query.js';
import type { BatchQuery } from './batch-query.js';
import { faultsOf, refuseInput } from './faults.js';
import { historyQuerySchema } from './history-query.js';
import type { HistoryQuery } from './history-query.js';
import { inventoryQuerySchema } from './inventory-query.js';
import type { InventoryQuery } from './inventory-query.js';
import { listQuerySchema } from './list-query.js';
import type { ListQuery } from './list-query.js';
import { materialQuerySchema } from './material-query.js';
import type { MaterialQuery } from './material-query.js';

/** Decoded query parameters: every value of a name, in their order. */
export type QueryParameters = ReadonlyMap<string, readonly string[]>;

/** Of one request, known or not; its head has at most 16 KiB anyway. */
export const queryParametersMax = 1_000;

export const readListQuery = queryReader<ListQuery>(listQuerySchema);
export const readMaterialQuery = queryReader<MaterialQuery>(materialQuerySchema);
export const readInventoryQuery = queryReader<InventoryQuery>(inventoryQuerySchema);
export const readHistoryQuery = queryReader<HistoryQuery>(historyQuerySchema);

const readBatchParameters = queryReader<BatchQuery>(batchQuerySchema);

export function readBatchQuery(parameters: QueryParameters): Result<BatchQuery> {
  return refuseQuery(parameters, Object.keys(batchQuerySchema.properties)) ?? readBatchParameters(parameters);
}

/** On a write a parameter that is not known is refused: a misspelt `dryRun` must not commit (contract §2 "List"). */
export function refuseQuery(parameters: QueryParameters, known: readonly string[] = []): Refusal | undefined {
  const unknown = [...parameters.keys()].filter((name) => !known.includes(name));
  if (unknown.length === 0) return undefined;
  const details = unknown.map((path) => ({ path, message: 'Is not a known parameter here.' }));
  return refuseInput('query', details);
}

interface Parameter {
  readonly type: 'string' | 'integer' | 'boolean' | 'array';
  readonly format?: string;
}

interface QuerySchema {
  readonly properties: Readonly<Record<string, Parameter>>;
}

/**
 * Returns a reader of the parameters that a schema names. A text that is plainly of the wanted type is converted (`1e2`
 * and ` 1` are no whole numbers), and then the schema is checked. Parameters that it does not name are ignored.
 */
function queryReader<Query extends object>(schema: QuerySchema): (parameters: QueryParameters) => Result<Query> {
  const isQuery: ValidateFunction<Query> = ajv.compile<Query>(schema);
  return (parameters) => {
    const query: Record<string, unknown> = {};
    const faults: ErrorDetail[] = [];
    for (const [name, { type }] of Object.entries(schema.properties)) {
      const values = parameters.get(name);
      const [first] = values ?? [];
      if (values === undefined || first === undefined) continue;
      if (type !== 'array' && values.length > 1) faults.push({ path: name, message: 'Must be given only once.' });
      query[name] = type === 'array' ? values : parseValue(type, first);
    }
    const valid = isQuery(query);
    if (valid && faults.length === 0) return succeed(query);
    if (!valid) faults.push(...faultsOf(isQuery.errors ?? []).map((fault) => byName(fault, schema)));
    return refuseInput('query', faults);
  };
}

/** Of any length: whole numbers that a double cannot represent are far beyond every bound. */
const wholeNumber = /^-?\d+$/;

function parseValue(type: 'string' | 'integer' | 'boolean', text: string): unknown {
  if (type === 'integer' && wholeNumber.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** The path of a fault is the parameter's name, not a pointer: `vendorFilter` and not `/vendorFilter/1`. */
function byName({ path, message }: ErrorDetail, { properties }: QuerySchema): ErrorDetail {
  const name = path.split('/')[1] ?? '';
  // An unescaped + in a query is a blank: the client sees an offset where we see none.
  return {
    path: name,
    message: properties[name]?.format === 'moment' ? `${message} In an address + is %2B.` : message,
  };
}

import type { Tool as PublishedTool } from '@modelcontextprotocol/server';
import { ajv } from '../../shared/contract/ajv.js';
import { faultsOf, pointerStep, refuseInput } from '../../shared/contract/faults.js';
import { isJsonObject } from '../../shared/contract/json-object.js';
import type { Schema } from '../../shared/contract/published-formats.js';
import { fieldsMax } from '../../shared/contract/read-inventory-batch.js';
import type { KeyScope } from '../../shared/database/api-keys.js';
import { succeed } from '../../shared/domain/errors.js';
import type { ErrorDetail, Result } from '../../shared/domain/errors.js';
import type { Caller } from '../caller.js';
import { answered } from '../operations/dispatch-answer.js';
import type { Answered } from '../operations/dispatch-answer.js';
import type { Services } from '../services.js';
import { publishedSchema } from './published-schema.js';

/** A tool: what agents are told of it, and what a call of it does. */
export interface Tool {
  scope: KeyScope;
  published: PublishedTool;
  /** @param args unchecked; INVALID_INPUT if anything is wrong with them */
  call: (services: Services, caller: Caller, args: unknown) => Promise<Answered<object>>;
}

export interface ToolDefinition<Args> {
  name: string;
  title: string;
  description: string;
  scope: KeyScope;
  /** Whether the same call again changes nothing more. */
  idempotent: boolean;
  input: Schema;
  /** The schema that checks the arguments, if that is not `input`: some parts of them have readers of their own. */
  checkedBy?: Schema;
  output: Schema;
  /** @param args valid by `checkedBy`, or else by `input` */
  run: (services: Services, caller: Caller, args: Args) => Promise<Answered<object>>;
}

/** The arguments of a read, as JSON: its REST twin has no more room either, in a request line of at most 16 KiB. */
const readCharactersMax = 16_384;

/** Makes a tool. Its arguments are checked by `checkedBy` or else by `input`, the schema that is published. */
export function createTool<Args extends object>(definition: ToolDefinition<Args>): Tool {
  const { scope, input, checkedBy = input, run } = definition;
  const isValid = ajv.compile<Args>(checkedBy);
  const read = (args: unknown): Result<Args> => {
    const fault = sizeFault(args, scope);
    if (fault !== undefined) return refuseInput('call', [fault]);
    return isValid(args) ? succeed(args) : refuseInput('call', faultsOf(isValid.errors ?? []));
  };
  return {
    scope,
    published: publish(definition),
    async call(services, caller, args) {
      const found = read(args);
      return found.ok ? run(services, caller, found.data) : answered(found);
    },
  };
}

function sizeFault(args: unknown, scope: KeyScope): ErrorDetail | undefined {
  if (!isJsonObject(args)) return { path: '', message: 'Must be an object.' };
  const members = Object.entries(args);
  const tooMany = `Has more than ${fieldsMax} fields.`;
  if (members.length > fieldsMax) return { path: '', message: tooMany };
  const wide = members.find(([, value]) => isJsonObject(value) && Object.keys(value).length > fieldsMax);
  if (wide !== undefined) return { path: pointerStep(wide[0]), message: tooMany };
  if (scope === 'read' && JSON.stringify(args).length > readCharactersMax) {
    return { path: '', message: `Has more than ${readCharactersMax} characters as JSON.` };
  }
  return undefined;
}

/** As agents see the tool. None is "open world", since it reads and changes only what is the shop's own. */
function publish({ name, title, description, scope, idempotent, input, output }: ToolDefinition<never>): PublishedTool {
  return {
    name,
    title,
    description,
    inputSchema: publishedSchema(input) as PublishedTool['inputSchema'],
    outputSchema: publishedSchema(output),
    annotations: {
      title,
      readOnlyHint: scope === 'read',
      destructiveHint: scope === 'write',
      idempotentHint: idempotent,
      openWorldHint: false,
    },
  };
}

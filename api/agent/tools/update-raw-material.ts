import { refuseInput } from '../../../shared/contract/faults.js';
import { materialChangesSchema } from '../../../shared/contract/material-changes.js';
import { materialSchema } from '../../../shared/contract/material.js';
import { readMaterialChanges } from '../../../shared/contract/read-material-changes.js';
import { succeed } from '../../../shared/domain/errors.js';
import type { ErrorDetail, Refusal, RequestError } from '../../../shared/domain/errors.js';
import { answered } from '../../operations/dispatch-answer.js';
import { updateMaterial } from '../../operations/update-material.js';
import { idempotencyKeyArgument, virtualIdArgument } from '../arguments.js';
import { toolIdempotency } from '../tool-idempotency.js';
import { createTool } from '../tool.js';
import { toolWording } from '../wording.js';

interface Arguments {
  variantId: string;
  changes: Record<string, unknown>;
  idempotencyKey?: string;
}

const name = 'update_raw_material';

/** The fields of REST, but an unknown one is refused: otherwise an agent that misspells one would never hear of it. */
const changesArgument = {
  ...materialChangesSchema,
  description: 'Only the fields to change. A field that is left out stays as it is; null clears one that may be empty.',
  additionalProperties: false,
} as const;

const input = {
  type: 'object',
  required: ['variantId', 'changes'],
  properties: { variantId: virtualIdArgument, changes: changesArgument, idempotencyKey: idempotencyKeyArgument },
  additionalProperties: false,
} as const;

/** Any value of any known field: REST's reader checks the values, and rounds them. */
const anyValue = Object.fromEntries(Object.keys(materialChangesSchema.properties).map((field) => [field, true]));

/** PATCH /v1/raw-materials/{variantId} as a tool. */
export const updateRawMaterial = createTool<Arguments>({
  name,
  title: 'Update a raw material',
  description:
    'Changes fields of one virtual raw material and answers with all its fields as they are then. All changes are applied ' +
    'or none. `inventoryQuantity` sets the wanted total over all locations by changing the default location; to change the ' +
    'stock of a location, or by an amount, use adjust_inventory.',
  scope: 'write',
  idempotent: true,
  input,
  checkedBy: {
    ...input,
    properties: {
      ...input.properties,
      changes: { type: 'object', properties: anyValue, additionalProperties: false },
    },
  },
  output: materialSchema,
  run: async (services, caller, args) => {
    const changes = readMaterialChanges(args.changes);
    if (!changes.ok) return answered(refuseInput('call', underChanges(changes.error)));
    const idempotency = toolIdempotency(name, caller, args);
    const { variantId } = args;
    const asked = { variantId, changes: changes.data, idempotency, wording: toolWording };
    const { result, replayed } = await updateMaterial(services, caller, asked);
    return answered(result.ok ? succeed(result.data.material) : intoChanges(result.error), replayed);
  },
});

/**
 * An error that shows only when the change is applied: its details point into REST's body, and here into `/changes`.
 */
function intoChanges(error: RequestError): Refusal {
  return { ok: false, error: { ...error, ...(error.details !== undefined && { details: underChanges(error) }) } };
}

/** The details of an error, where those that point into REST's body point into `/changes`. */
function underChanges({ details = [] }: RequestError): ErrorDetail[] {
  const isInBody = ({ path }: ErrorDetail) => path === '' || path.startsWith('/');
  return details.map((detail) => (isInBody(detail) ? { ...detail, path: `/changes${detail.path}` } : detail));
}

import { batchQuerySchema } from '../../../shared/contract/batch-query.js';
import { reportedBatchResultSchema } from '../../../shared/contract/batch-result.js';
import { refuseInput } from '../../../shared/contract/faults.js';
import { inventoryBatchSchema, inventoryRowSchema } from '../../../shared/contract/inventory-batch.js';
import { readInventoryBatch } from '../../../shared/contract/read-inventory-batch.js';
import { adjustInventory as adjust } from '../../operations/adjust-inventory.js';
import { answered } from '../../operations/dispatch-answer.js';
import { idempotencyKeyArgument, virtualIdArgument } from '../arguments.js';
import { toolIdempotency } from '../tool-idempotency.js';
import { createTool } from '../tool.js';
import { toolWording } from '../wording.js';

interface Arguments {
  variantId: string;
  updates: unknown;
  dryRun?: boolean;
  idempotencyKey?: string;
}

const name = 'adjust_inventory';

/** The row of REST, but with another description of `variantId`: REST's speaks of a path. */
const rowArgument = {
  ...inventoryRowSchema,
  properties: {
    ...inventoryRowSchema.properties,
    variantId: { type: 'string', description: 'May be left out; must equal the `variantId` beside `updates`.' },
  },
} as const;

const input = {
  type: 'object',
  required: ['variantId', 'updates'],
  properties: {
    variantId: virtualIdArgument,
    updates: {
      ...inventoryBatchSchema.properties.updates,
      items: rowArgument,
      description: 'Applied in this order; a location may come again and then starts from what the row before it left.',
    },
    dryRun: {
      ...batchQuerySchema.properties.dryRun,
      description: 'Answers what would happen, and applies nothing.',
    },
    idempotencyKey: idempotencyKeyArgument,
  },
  additionalProperties: false,
} as const;

/**
 * PATCH /v1/raw-materials/{variantId}/inventory as a tool. It always says what each row did, which REST does on
 * `Prefer: return=representation`: an agent that is not told of a clamped delta would go on from a wrong figure.
 */
export const adjustInventory = createTool<Arguments>({
  name,
  title: 'Adjust stock by location',
  description:
    'Changes the stock of one virtual raw material at one or more locations. Each row names a location and carries ' +
    'either `delta` (add, or take away when negative) or `absolute` (the wanted level). Where the shop does not ' +
    'allow negative stock, a delta takes away no more than there is: the row is still ok, and `applied`, `level` ' +
    'and `clamped` say what was done. Rows succeed and fail one by one, so look at `failedCount`; a malformed row ' +
    'refuses the whole call, and when all rows fail alike the call is an error. With `expected` a row is applied ' +
    'only while the level is that. Send an `idempotencyKey` with every call, so that one without an answer can be ' +
    'repeated.',
  scope: 'write',
  idempotent: false,
  input,
  // The rows are left to REST's reader, which names every bad row, and does not take long for a megabyte of junk.
  checkedBy: { ...input, properties: { ...input.properties, updates: true } },
  output: reportedBatchResultSchema,
  run: async (services, caller, args) => {
    const { variantId, updates, dryRun = false } = args;
    const rows = readInventoryBatch({ updates }, variantId);
    if (!rows.ok) return answered(refuseInput('call', rows.error.details ?? []));
    const idempotency = toolIdempotency(name, caller, args);
    return adjust(services, caller, {
      variantId,
      rows: rows.data,
      detailed: true,
      dryRun,
      idempotency,
      wording: toolWording,
    });
  },
});

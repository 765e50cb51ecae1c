import { batchQuerySchema } from '../../shared/contract/batch-query.js';
import { batchResultSchema, reportedBatchResultSchema } from '../../shared/contract/batch-result.js';
import { historyPageSchema } from '../../shared/contract/history-page.js';
import { historyQuerySchema } from '../../shared/contract/history-query.js';
import { inventoryBatchSchema } from '../../shared/contract/inventory-batch.js';
import { inventoryLevelsSchema } from '../../shared/contract/inventory-levels.js';
import { inventoryQuerySchema } from '../../shared/contract/inventory-query.js';
import { listPageSchema } from '../../shared/contract/list-page.js';
import { listQuerySchema } from '../../shared/contract/list-query.js';
import { materialChangesSchema } from '../../shared/contract/material-changes.js';
import { materialQuerySchema } from '../../shared/contract/material-query.js';
import { connectedMaterialSchema, materialSchema } from '../../shared/contract/material.js';
import type { ErrorCode } from '../../shared/domain/errors.js';
import type { HeaderName } from './headers.js';
import type { Schema } from '../../shared/contract/published-formats.js';
import type { ParameterName, QuerySchema } from './parameters.js';
import { replyExamples } from './reply-examples.js';
import { requestExamples } from './request-examples.js';

interface Example {
  summary: string;
  value: unknown;
}

/** What the document says of a route beyond its line in the table of routes. */
export interface OperationText {
  operationId: string;
  tag: 'Materials' | 'Inventory';
  summary: string;
  description: string;
  parameters: readonly ParameterName[];
  query?: QuerySchema;
  body?: { schema: Schema; examples: Readonly<Record<string, Example>> };
  /** `data` of the 200: one schema, or the alternatives that a query or a header chooses from. */
  data: readonly Schema[];
  examples: Readonly<Record<string, Example>>;
  headers: readonly HeaderName[];
  /** Beyond those that every route has. */
  errors: readonly ErrorCode[];
}

const writeErrors = [
  'FORBIDDEN_SCOPE',
  'NOT_FOUND',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'IDEMPOTENCY_KEY_REUSED',
  'OUTCOME_UNKNOWN',
] as const;

/** By method and path, as the table of routes has them; a test holds the two to each other. */
export const operations: Readonly<Record<string, OperationText>> = {
  'GET /v1/raw-materials': {
    operationId: 'listRawMaterials',
    tag: 'Materials',
    summary: 'List raw materials',
    description:
      'A page of the shop’s materials of both origins. Text sorts without regard to case, nulls come last, ties are broken ' +
      'by id. A page past the end is empty. One with more than 16 MiB of text is refused: ask for fewer materials.\n\n' +
      '**To read all pages** while materials change, sort by `updatedAt` descending and drop ids seen before; ' +
      'what changed meanwhile is found by reading the first pages again. Any other order may skip materials that ' +
      'did not change. If `totalCount` has shrunk, begin again.\n\n' +
      '**To follow changes**, read in that order down to ten seconds before the newest `updatedAt` seen last ' +
      'time; the new mark is the newest of the first page. A change has the time at which it was made, and shows ' +
      'when it is committed: some seconds later at most, unless its transaction has to wait, as for a ' +
      'synchronous standby. After an import read the whole list, because all its materials have the time of its ' +
      'start. The whole list also tells what is gone. For the stock of one virtual material, the history `from` ' +
      'the last `at` on misses nothing.',
    parameters: [],
    query: listQuerySchema,
    data: [listPageSchema],
    examples: { page: replyExamples.listPage },
    headers: ['Link'],
    errors: [],
  },
  'GET /v1/raw-materials/{variantId}': {
    operationId: 'getRawMaterial',
    tag: 'Materials',
    summary: 'Read a raw material',
    description: 'One material, and with `includeConnections=true` what uses it.',
    parameters: ['variantId'],
    query: materialQuerySchema,
    data: [connectedMaterialSchema, materialSchema],
    examples: { material: replyExamples.material, withConnections: replyExamples.connectedMaterial },
    headers: ['ETag'],
    errors: ['NOT_FOUND'],
  },
  'PATCH /v1/raw-materials/{variantId}': {
    operationId: 'updateRawMaterial',
    tag: 'Materials',
    summary: 'Update fields of a virtual material',
    description:
      'JSON Merge Patch: only what is sent is changed, null clears. Fields that are not recognised are ignored. Answered with ' +
      'the state after the commit.',
    parameters: ['virtualId', 'idempotencyKey', 'ifMatch'],
    body: { schema: materialChangesSchema, examples: { costAndVendor: requestExamples.materialChanges } },
    data: [materialSchema],
    examples: { updated: replyExamples.updatedMaterial },
    headers: ['ETag', 'Idempotency-Replayed'],
    errors: [...writeErrors, 'PRECONDITION_FAILED'],
  },
  'GET /v1/raw-materials/{variantId}/inventory': {
    operationId: 'getInventory',
    tag: 'Inventory',
    summary: 'Read the levels of a material',
    description:
      'The levels at the shop’s locations: of a virtual material from the service, of a platform material live from the ' +
      'commerce platform. Without a filter those that have a level; with one, those asked for, at 0 where nothing was booked.',
    parameters: ['variantId'],
    query: inventoryQuerySchema,
    data: [inventoryLevelsSchema],
    examples: { levels: replyExamples.levels },
    headers: [],
    errors: ['NOT_FOUND', 'UPSTREAM_ERROR'],
  },
  'PATCH /v1/raw-materials/{variantId}/inventory': {
    operationId: 'adjustInventory',
    tag: 'Inventory',
    summary: 'Adjust the levels of a virtual material',
    description:
      'Rows run in their order, each with exactly one of `delta` and `absolute`. A malformed row fails the whole request ' +
      'before anything is queued; what fails later fails its row alone, so check each `ok`. A negative delta stops at zero ' +
      'unless the shop allows negative inventory, and is still ok. When all rows fail with the same code, that error is ' +
      'answered for the request.',
    parameters: ['virtualId', 'idempotencyKey', 'prefer'],
    query: batchQuerySchema,
    body: {
      schema: inventoryBatchSchema,
      examples: { adjustments: requestExamples.adjustments, stockTake: requestExamples.stockTake },
    },
    data: [reportedBatchResultSchema, batchResultSchema],
    examples: {
      someRowsFailed: replyExamples.someRowsFailed,
      stockTaken: replyExamples.stockTaken,
      reported: replyExamples.reported,
    },
    headers: ['Preference-Applied', 'Idempotency-Replayed'],
    errors: [...writeErrors, 'CONFLICT'],
  },
  'GET /v1/raw-materials/{variantId}/inventory/history': {
    operationId: 'getInventoryHistory',
    tag: 'Inventory',
    summary: 'Read the ledger of a material',
    description:
      'Every change of the levels of a virtual material, newest first. Pages stay put while new changes come. A platform ' +
      'material has no ledger here: its history is empty. `requestId` settles an `OUTCOME_UNKNOWN` of a change of stock.',
    parameters: ['variantId'],
    query: historyQuerySchema,
    data: [historyPageSchema],
    examples: { page: replyExamples.history },
    headers: [],
    errors: ['NOT_FOUND'],
  },
};

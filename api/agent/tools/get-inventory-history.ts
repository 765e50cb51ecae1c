import { historyPageSchema } from '../../../shared/contract/history-page.js';
import { historyQuerySchema } from '../../../shared/contract/history-query.js';
import type { HistoryQuery } from '../../../shared/contract/history-query.js';
import { answered } from '../../operations/dispatch-answer.js';
import { readHistory } from '../../operations/read-history.js';
import { readArguments } from '../arguments.js';
import { createTool } from '../tool.js';

const { from, to } = historyQuerySchema.properties;

/** GET /v1/raw-materials/{variantId}/inventory/history as a tool. */
export const getInventoryHistory = createTool<{ variantId: string } & HistoryQuery>({
  name: 'get_inventory_history',
  title: 'Get the history of stock',
  description:
    'What changed the stock of one raw material, newest first: what was asked for, what was applied, the level before and ' +
    'after, when, and by which channel, key and request. With `requestId` it tells whether a call whose outcome is unknown ' +
    'was applied. Materials of the commerce platform have no history here.',
  scope: 'read',
  idempotent: true,
  input: readArguments({
    ...historyQuerySchema.properties,
    from: { ...from, description: `ISO 8601, a date or a time with its offset. ${from.description}` },
    to: { ...to, description: `ISO 8601, a date or a time with its offset. ${to.description}` },
  }),
  output: historyPageSchema,
  run: async (services, caller, { variantId, ...query }) =>
    answered(await readHistory(services, caller, { variantId, query })),
});

import type { FromSchema } from 'json-schema-to-ts';
import { wholeObject } from './whole-object.js';

const requested = {
  oneOf: [wholeObject({ delta: { type: 'number' } }), wholeObject({ absolute: { type: 'number' } })],
} as const;

const textOrNull = { type: ['string', 'null'] } as const;

/** One entry of the ledger (contract §7 `history`); quantities in units. */
const historyItemSchema = {
  title: 'HistoryItem',
  ...wholeObject({
    locationId: { type: 'string' },
    sequence: { type: 'integer', minimum: 1, description: 'The number of the change of this level, without gaps.' },
    requested,
    previous: { type: 'number', description: 'The level before.' },
    applied: { type: 'number', description: 'By how much it was changed; previous + applied = level.' },
    level: { type: 'number', description: 'The level after.' },
    clamped: { type: 'boolean', description: 'Less than the wanted delta was applied: the level stops at zero.' },
    at: { type: 'string', format: 'date-time' },
    channel: { type: 'string', enum: ['rest', 'mcp', 'cli', 'import'] },
    keyId: { ...textOrNull, description: 'The id of the API key, never the key.' },
    requestId: { ...textOrNull, description: 'The X-Request-Id of the request that changed it.' },
    operationId: { type: 'string', description: 'The same for all rows of one request.' },
    reason: textOrNull,
    reference: textOrNull,
  }),
} as const;

/** `data` of the history: newest first (contract §7). */
export const historyPageSchema = {
  title: 'HistoryPage',
  ...wholeObject({
    items: { type: 'array', items: historyItemSchema },
    nextCursor: { ...textOrNull, description: 'The cursor of the next page; null on the last.' },
  }),
} as const;

export type HistoryPage = FromSchema<typeof historyPageSchema>;

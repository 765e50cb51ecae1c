import type { FromSchema } from 'json-schema-to-ts';
import { materialSchema } from './material.js';
import { wholeObject } from './whole-object.js';

/** `data` of the list (spec §List page). */
export const listPageSchema = {
  title: 'ListPage',
  ...wholeObject({
    items: { type: 'array', items: materialSchema },
    totalCount: { type: 'integer', minimum: 0 },
    page: { type: 'integer', minimum: 1 },
    pageSize: { type: 'integer', minimum: 1 },
    totalPages: { type: 'integer', minimum: 0 },
    availableVendors: {
      type: 'array',
      items: { type: 'string' },
      description:
        'Every vendor of the shop, whatever the filters, sorted; the first of them where they take more than 4 MiB (over MCP: 64 KiB).',
    },
  }),
} as const;

export type ListPage = FromSchema<typeof listPageSchema>;

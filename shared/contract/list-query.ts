import type { FromSchema } from 'json-schema-to-ts';
import { sortKeys } from '../domain/list-order.js';

/** The query of the list (spec §GET /raw-materials, contract §2 "List"). */
export const listQuerySchema = {
  type: 'object',
  properties: {
    page: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 },
    pageSize: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000,
      default: 50,
      description:
        'Materials a page. Where these have more than 16 MiB of text as JSON, it is refused as too large; 200 never have.',
    },
    search: {
      type: 'string',
      format: 'text',
      description: 'A part of product name, variant name, sku or vendor, without regard to case; empty is none.',
    },
    usageFilter: { type: 'string', enum: ['all', 'used', 'unused'], default: 'all' },
    originFilter: { type: 'string', enum: ['all', 'platform', 'virtual'], default: 'all' },
    sortBy: {
      type: 'string',
      format: 'text',
      default: 'productName',
      description: `${sortKeys.slice(0, -1).join(', ')} or ${sortKeys.at(-1)}; anything else is ignored.`,
    },
    sortOrder: {
      type: 'string',
      format: 'text',
      default: 'asc',
      description: 'asc or desc; anything else is ignored.',
    },
    vendorFilter: {
      type: 'array',
      items: { type: 'string', format: 'text' },
      description: 'An exact vendor name; repeat the parameter for any of several.',
    },
  },
  additionalProperties: true,
} as const;

/** What was sent, validated, with no defaults filled in. */
export type ListQuery = FromSchema<typeof listQuerySchema, { keepDefaultedPropertiesOptional: true }>;

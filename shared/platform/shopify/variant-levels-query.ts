import { compiledWhenAsked } from './compiled-when-asked.js';
import { locationGidSchema } from './global-ids.js';
import { pageSchema } from './page-info.js';
import type { PageInfo } from './page-info.js';

/**
 * A page of a variant's levels. By the published rules its requested cost is about 3 points a level and so near 155 of
 * the 1,000 that one query may cost; the unused is given back
 * (https://shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits). Needs the scopes read_products, read_inventory
 * and read_locations.
 */
export const variantLevelsQuery = `query VariantLevels($id: ID!, $first: Int!, $after: String) {
  productVariant(id: $id) {
    inventoryItem {
      inventoryLevels(first: $first, after: $after) {
        nodes {
          location { id }
          quantities(names: ["available"]) { name quantity updatedAt }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

export interface VariantLevelsVariables {
  /** `gid://shopify/ProductVariant/<digits>`. */
  id: string;
  first: number;
  after: string | null;
}

/** `data` of a reply to `variantLevelsQuery`, as Shopify documents it and as far as we believe it. */
export interface VariantLevelsData {
  /** null for a variant that the shop does not have. */
  productVariant: { inventoryItem: { inventoryLevels: LevelsPage } } | null;
}

interface LevelsPage {
  nodes: LevelNode[];
  pageInfo: PageInfo;
}

export interface LevelNode {
  location: { id: string };
  quantities: [{ name: 'available'; quantity: number; updatedAt: string | null }];
}

/** Most shops have fewer than ten locations: one page is the rule. */
export const levelsPerPage = 50;

const quantitySchema = {
  type: 'object',
  required: ['name', 'quantity', 'updatedAt'],
  properties: {
    name: { const: 'available' },
    // GraphQL's Int has 32 bits.
    quantity: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
    // Not `date-time`: that takes a leap second, which `Date` cannot read.
    updatedAt: { type: ['string', 'null'], format: 'moment' },
  },
} as const;

const levelSchema = {
  type: 'object',
  required: ['location', 'quantities'],
  properties: {
    location: {
      type: 'object',
      required: ['id'],
      properties: { id: locationGidSchema },
    },
    quantities: { type: 'array', minItems: 1, maxItems: 1, items: quantitySchema },
  },
} as const;

export const isVariantLevelsData = compiledWhenAsked((ajv) =>
  ajv.compile<VariantLevelsData>({
    type: 'object',
    required: ['productVariant'],
    properties: {
      productVariant: {
        type: ['object', 'null'],
        required: ['inventoryItem'],
        properties: {
          inventoryItem: {
            type: 'object',
            required: ['inventoryLevels'],
            properties: { inventoryLevels: pageSchema(levelsPerPage, levelSchema) },
          },
        },
      },
    },
  }),
);

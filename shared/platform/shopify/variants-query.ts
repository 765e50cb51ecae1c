import { compiledWhenAsked } from './compiled-when-asked.js';
import { variantGidSchema } from './global-ids.js';
import { pageSchema } from './page-info.js';
import type { PageInfo } from './page-info.js';

/**
 * A page of all of a shop's variants, by id, so that no change meanwhile moves a variant to another page. An image
 * comes through `media`, since `image` is deprecated; a variant without one of its own shows its product's.
 * At most 12 points a variant and so 602 of the 1,000 that one query may cost, by the rule of a point an object
 * (https://shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits); Shopify asks for far less in practice.
 * Needs the scope read_products; the cost needs the permission to view product costs too, without which it is null.
 */
export const variantsQuery = `query Variants($first: Int!, $after: String) {
  productVariants(first: $first, after: $after, sortKey: ID) {
    nodes {
      id
      title
      sku
      price
      inventoryQuantity
      media(first: 1) { nodes { preview { image { url } } } }
      inventoryItem { unitCost { amount } }
      product { title vendor featuredMedia { preview { image { url } } } }
    }
    pageInfo { hasNextPage endCursor }
  }
}`;

/** Of the two queries that list; `after` is the end of the page before. */
export interface ListVariables {
  first: number;
  after: string | null;
}

/** `data` of a reply to `variantsQuery`, as Shopify documents it and as far as we believe it. */
export interface VariantsData {
  productVariants: { nodes: VariantNode[]; pageInfo: PageInfo };
}

export interface VariantNode {
  id: string;
  title: string;
  sku: string | null;
  /** `Money`, a decimal as text. */
  price: string;
  inventoryQuantity: number | null;
  media: { nodes: MediaNode[] };
  inventoryItem: { unitCost: { amount: string } | null };
  product: { title: string; vendor: string; featuredMedia: MediaNode | null };
}

/** Each step may be missing, as while a picture is still being processed. */
export interface MediaNode {
  preview: { image: { url: string } | null } | null;
}

export const variantsPerPage = 50;

const text = { type: 'string' } as const;
const textOrNull = { type: ['string', 'null'] } as const;

const mediaSchema = {
  type: ['object', 'null'],
  required: ['preview'],
  properties: {
    preview: {
      type: ['object', 'null'],
      required: ['image'],
      properties: { image: { type: ['object', 'null'], required: ['url'], properties: { url: text } } },
    },
  },
} as const;

const variantSchema = {
  type: 'object',
  required: ['id', 'title', 'sku', 'price', 'inventoryQuantity', 'media', 'inventoryItem', 'product'],
  properties: {
    id: variantGidSchema,
    title: text,
    sku: textOrNull,
    price: text,
    // GraphQL's Int has 32 bits.
    inventoryQuantity: { type: ['integer', 'null'], minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
    media: {
      type: 'object',
      required: ['nodes'],
      properties: { nodes: { type: 'array', maxItems: 1, items: { ...mediaSchema, type: 'object' } } },
    },
    inventoryItem: {
      type: 'object',
      required: ['unitCost'],
      properties: { unitCost: { type: ['object', 'null'], required: ['amount'], properties: { amount: text } } },
    },
    product: {
      type: 'object',
      required: ['title', 'vendor', 'featuredMedia'],
      properties: { title: text, vendor: text, featuredMedia: mediaSchema },
    },
  },
} as const;

export const isVariantsData = compiledWhenAsked((ajv) =>
  ajv.compile<VariantsData>({
    type: 'object',
    required: ['productVariants'],
    properties: { productVariants: pageSchema(variantsPerPage, variantSchema) },
  }),
);

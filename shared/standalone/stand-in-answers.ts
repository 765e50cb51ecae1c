import type { PlatformLevel, PlatformLocation } from '../platform/commerce-platform.js';
import { locationGidPrefix, variantGidPrefix } from '../platform/shopify/global-ids.js';
import { locationsQuery } from '../platform/shopify/locations-query.js';
import type { LocationNode, LocationsData } from '../platform/shopify/locations-query.js';
import type { PageInfo } from '../platform/shopify/page-info.js';
import { variantLevelsQuery } from '../platform/shopify/variant-levels-query.js';
import type { LevelNode, VariantLevelsData } from '../platform/shopify/variant-levels-query.js';
import { variantsQuery } from '../platform/shopify/variants-query.js';
import type { VariantNode, VariantsData } from '../platform/shopify/variants-query.js';

/** What the stand-in knows of its one shop. */
export interface StandInShop {
  variants: readonly StandInVariant[];
  locations: readonly PlatformLocation[];
}

export interface StandInVariant {
  /** Plain digits, as in our paths. */
  id: string;
  productTitle: string;
  title: string;
  sku: string;
  vendor: string;
  unit: string;
  price: number;
  cost: number;
  /** Only the locations where the variant has a level. */
  levels: readonly PlatformLevel[];
}

/**
 * The body for a query. The stand-in knows the adapter's documents by their text and answers any other with an error,
 * as Shopify would a field that it does not have.
 */
export function answerQuery(shop: StandInShop, asked: { query?: unknown; variables?: unknown }): object {
  const { variables } = asked;
  if (asked.query === variantLevelsQuery && isVariables(variables)) {
    return answer(variables, levelPoints, () => variantLevels(shop, variables));
  }
  if (asked.query === variantsQuery && isVariables(variables)) {
    return answer(variables, variantPoints, () => listVariants(shop, variables));
  }
  if (asked.query === locationsQuery && isVariables(variables)) {
    return answer(variables, locationPoints, () => listLocations(shop, variables));
  }
  return graphqlError('undefinedField', 'Unknown query');
}

const firstMax = 250;
/** A point for each object of an entry. */
const levelPoints = 3;
const variantPoints = 12;
const locationPoints = 1;

interface Variables {
  id?: string;
  first: number;
  after: string | null;
}

function isVariables(given: unknown): given is Variables {
  return typeof given === 'object' && given !== null && 'first' in given && 'after' in given;
}

function answer({ first }: Variables, pointsEach: number, read: () => object): object {
  if (!Number.isInteger(first) || first < 1 || first > firstMax) {
    return graphqlError('BAD_REQUEST', `first must be 1 to ${firstMax}`);
  }
  return { data: read(), extensions: { cost: { ...fullBucket, requestedQueryCost: 5 + pointsEach * first } } };
}

/** The stand-in never throttles: its bucket is always full. */
const fullBucket = {
  actualQueryCost: 5,
  throttleStatus: { maximumAvailable: 2000, currentlyAvailable: 1995, restoreRate: 100 },
};

function graphqlError(code: string, message: string): object {
  return { errors: [{ message, extensions: { code } }] };
}

function variantLevels({ variants }: StandInShop, { id, first, after }: Variables): VariantLevelsData {
  const asked = variants.find((variant) => variantGidPrefix + variant.id === id);
  if (asked === undefined) return { productVariant: null };
  const { items, pageInfo } = pageOf(asked.levels, first, after);
  const nodes = items.map(({ locationId, quantity, updatedAt }): LevelNode => {
    return {
      location: { id: locationGidPrefix + locationId },
      quantities: [{ name: 'available', quantity, updatedAt }],
    };
  });
  return { productVariant: { inventoryItem: { inventoryLevels: { nodes, pageInfo } } } };
}

function listVariants({ variants }: StandInShop, { first, after }: Variables): VariantsData {
  const { items, pageInfo } = pageOf(variants, first, after);
  const nodes = items.map((variant): VariantNode => {
    return {
      id: variantGidPrefix + variant.id,
      title: variant.title,
      sku: variant.sku,
      price: variant.price.toFixed(2),
      inventoryQuantity: variant.levels.reduce((sum, { quantity }) => sum + quantity, 0),
      media: { nodes: [] },
      inventoryItem: { unitCost: { amount: String(variant.cost) } },
      product: { title: variant.productTitle, vendor: variant.vendor, featuredMedia: null },
    };
  });
  return { productVariants: { nodes, pageInfo } };
}

function listLocations({ locations }: StandInShop, { first, after }: Variables): LocationsData {
  const { items, pageInfo } = pageOf(locations, first, after);
  const nodes = items.map(({ id, name }): LocationNode => ({ id: locationGidPrefix + id, name }));
  return { locations: { nodes, pageInfo } };
}

/** One page; a cursor is the number of entries before it, in base64. */
function pageOf<Item>(
  all: readonly Item[],
  first: number,
  after: string | null,
): { items: Item[]; pageInfo: PageInfo } {
  const start = after === null ? 0 : Number(Buffer.from(after, 'base64').toString('latin1'));
  const items = all.slice(start, start + first);
  const end = start + items.length;
  const endCursor = items.length === 0 ? null : Buffer.from(String(end), 'latin1').toString('base64');
  return { items, pageInfo: { hasNextPage: end < all.length, endCursor } };
}

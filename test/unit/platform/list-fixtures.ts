import type nock from 'nock';
import { locationsQuery } from '../../../shared/platform/shopify/locations-query.js';
import { variantsQuery } from '../../../shared/platform/shopify/variants-query.js';
import { onShop, path } from './fixtures.js';

/** A variant as Shopify lists it; `changes` replaces whole fields, be it with nonsense. */
export function variantNode(id: number | string, changes: Record<string, unknown> = {}) {
  return {
    id: `gid://shopify/ProductVariant/${id}`,
    title: `Variant ${id}`,
    sku: `SKU-${id}`,
    price: '12.50',
    inventoryQuantity: 7,
    media: { nodes: [] },
    inventoryItem: { unitCost: { amount: '4.2' } },
    product: { title: `Product ${id}`, vendor: 'Vendor', featuredMedia: null },
    ...changes,
  };
}

export function locationNode(id: number | string, name = `Location ${id}`) {
  return { id: `gid://shopify/Location/${id}`, name };
}

type Nodes = readonly object[];

/** `next`: the cursor of a further page. */
export function variantsReply(nodes: Nodes, next: string | null = null) {
  return { data: { productVariants: connection(nodes, next) } };
}

export function locationsReply(nodes: Nodes, next: string | null = null) {
  return { data: { locations: connection(nodes, next) } };
}

function connection(nodes: Nodes, next: string | null) {
  return { nodes, pageInfo: { hasNextPage: next !== null, endCursor: next ?? (nodes.length === 0 ? null : 'last') } };
}

/** Figures of cost, as they stand beside `data`. */
export function costing(requestedQueryCost: number, currentlyAvailable: number, restoreRate = 100) {
  const throttleStatus = { maximumAvailable: 1_000, currentlyAvailable, restoreRate };
  return { extensions: { cost: { requestedQueryCost, actualQueryCost: requestedQueryCost, throttleStatus } } };
}

/** Prepares the next reply to a page of variants, whose cursor must be this one. */
export function onVariants(after: string | null): nock.Interceptor {
  return onShop().post(path, { query: variantsQuery, variables: { first: 50, after } });
}

export function onLocations(after: string | null): nock.Interceptor {
  return onShop().post(path, { query: locationsQuery, variables: { first: 50, after } });
}

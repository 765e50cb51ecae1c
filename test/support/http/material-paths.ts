export const listPath = '/v1/raw-materials';

export function materialPath(id: string): string {
  return `${listPath}/${id}`;
}

export function inventoryPath(id: string): string {
  return `${listPath}/${id}/inventory`;
}

/** Ids that are none, as they stand in a path: 400 on every route, before anything is looked up (contract §1). */
export const badIds = [
  'gid:%2F%2Fshopify%2FProductVariant%2F1',
  'gid://shopify/ProductVariant/1',
  'GID://shopify/ProductVariant/1',
  'gid:%2F%2Fshopify/ProductVariant/1',
  'gid%3A//shopify/ProductVariant/1',
  '%67%49d%3a//shopify/ProductVariant/1',
  '123456789012345678901',
  '-1',
  '1.0',
  '1e3',
  '%201',
  'vmat-VAR-1',
  'VMAT',
  'VMAT_1',
  'abc',
  '%C3%A4',
  '*',
  'null',
] as const;

/** Beginning with `VMAT-`, but outside of the grammar of virtual ids: simply unknown, and never sent to a queue. */
export const impossibleIds = [
  'VMAT-',
  `VMAT-${'x'.repeat(65)}`,
  'VMAT-a:b',
  'VMAT-a%3Ab',
  'VMAT-a%20b',
  'VMAT-a.b',
  'VMAT-%C3%A4',
  'VMAT-a%0A',
  'VMAT-%2F',
  'VMAT-*',
] as const;

/** Within the grammar, and of no material. */
export const unknownVirtualIds = [
  'VMAT-VAR-018f3c1e-5b7a-7cc0-8000-000000000000',
  'VMAT-x',
  'VMAT-VAR-unknown',
] as const;

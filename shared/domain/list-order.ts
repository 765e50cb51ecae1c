/**
 * What the list can be sorted by: the values of `sortBy` (contract §2 "List"), in the order in which they are told to
 * clients. Each must have its column and its indexes, in `shared/database/material-page-sql.ts`.
 */
export const sortKeys = [
  'productName',
  'variantName',
  'inventoryQuantity',
  'sku',
  'vendor',
  'unitCost',
  'updatedAt',
] as const;

export type SortKey = (typeof sortKeys)[number];

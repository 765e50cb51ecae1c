import { sortKeys } from '../../../shared/domain/list-order.js';
import type { SortKey } from '../../../shared/domain/list-order.js';

/** A list as a client asks for it. */
export interface Shape {
  filter: FilterName;
  sortBy: SortKey;
  sortOrder: 'asc' | 'desc';
  page: number;
}

/** What each adds to the query; its name says how much of the shop matches. */
export const filters = {
  'no filter': '',
  'used, 10 %': 'usageFilter=used',
  'unused, 90 %': 'usageFilter=unused',
  'virtual, 95 %': 'originFilter=virtual',
  'platform, 5 %': 'originFilter=platform',
  'a vendor, 1 %': 'vendorFilter=Vendor+7',
  'three vendors, 3 %': 'vendorFilter=Vendor+7&vendorFilter=Vendor+8&vendorFilter=Vendor+9',
  'a vendor, used, virtual, 0.1 %': 'vendorFilter=Vendor+7&usageFilter=used&originFilter=virtual',
  'search, nothing': 'search=nothing+of+this',
  'search, 1 in 900': 'search=ab3',
  'search, 1 in 10': 'search=oak',
  'search, two letters, 1 in 9': 'search=ab',
} as const;

export type FilterName = keyof typeof filters;

/** A search visits all that it finds, to count it; one that finds much of the shop is shown, but not judged. */
const commonSearches: readonly FilterName[] = ['search, 1 in 10', 'search, two letters, 1 in 9'];
export const isJudged = ({ filter }: Pick<Shape, 'filter'>) => !commonSearches.includes(filter);

const pages = [1, 2, 50, 100];

export function allShapes(): Shape[] {
  return (Object.keys(filters) as FilterName[]).flatMap((filter) =>
    sortKeys.flatMap((sortBy) =>
      (['asc', 'desc'] as const).flatMap((sortOrder) => pages.map((page) => ({ filter, sortBy, sortOrder, page }))),
    ),
  );
}

export function pathOf({ filter, sortBy, sortOrder, page }: Shape): string {
  const filtered = filters[filter] === '' ? '' : `&${filters[filter]}`;
  return `/v1/raw-materials?page=${page}&sortBy=${sortBy}&sortOrder=${sortOrder}${filtered}`;
}

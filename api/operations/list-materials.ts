import { refuseAt } from '../../shared/contract/faults.js';
import type { ListPage } from '../../shared/contract/list-page.js';
import { listQuerySchema } from '../../shared/contract/list-query.js';
import type { ListQuery } from '../../shared/contract/list-query.js';
import type { Database } from '../../shared/database/connect.js';
import { findMaterialPage } from '../../shared/database/material-list.js';
import type { MaterialListQuery } from '../../shared/database/material-list.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Refusal, Result } from '../../shared/domain/errors.js';
import { sortKeys } from '../../shared/domain/list-order.js';
import type { SortKey } from '../../shared/domain/list-order.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';

const mib = 1_024 * 1_024;

/** How large an answer may be. */
export interface ListBounds {
  /** The text of a page as JSON, in UTF-8; a page with more is refused. */
  textMibMax: number;
  /** Likewise of `availableVendors`, which is cut. */
  vendorBytesMax: number;
}

/**
 * A thousand of the longest texts take 13 MiB in ASCII, so they fit. In other characters they were 52 MB, and for 2.7 s
 * the process answered nobody else.
 */
const listBounds: ListBounds = { textMibMax: 16, vendorBytesMax: 4 * mib };

/** A page with more text is made alone. */
const largeMib = 4;

/**
 * A page of the shop's materials of both origins; never a call to the platform (contract §2 "List").
 * Errors: INVALID_INPUT, for a page with too much text; SERVICE_UNAVAILABLE, if its turn does not come (`Reads.ask`).
 */
export async function listMaterials(
  { reads }: Services,
  { shop }: Caller,
  input: ListQuery,
  { textMibMax, vendorBytesMax }: ListBounds = listBounds,
): Promise<Result<ListPage>> {
  const query = { ...withDefaults(input), vendorBytesMax };
  const find = (mibMax: number) => (database: Database) =>
    findMaterialPage(database, shop.id, { ...query, textBytesMax: mibMax * mib });
  let found = await reads.ask(shop.id, find(Math.min(largeMib, textMibMax)));
  const isLarge = found.ok && found.data.refusedBytes !== undefined && found.data.refusedBytes <= textMibMax * mib;
  if (isLarge) found = await reads.askAlone(shop.id, find(textMibMax));
  if (!found.ok) return found;
  const { items, totalCount, availableVendors, refusedBytes } = found.data;
  if (refusedBytes !== undefined) return refusePage(refusedBytes, textMibMax);
  const { page, pageSize } = query;
  return succeed({ items, totalCount, page, pageSize, totalPages: Math.ceil(totalCount / pageSize), availableVendors });
}

function refusePage(bytes: number, textMibMax: number): Refusal {
  const found = `The materials of this page have ${Math.ceil(bytes / mib)} MiB of text`;
  return refuseAt('pageSize', `${found}; a page may have ${textMibMax}. Ask for fewer.`);
}

const defaultOf = listQuerySchema.properties;

/**
 * A parameter of the schema that `MaterialListQuery` does not have, or that is missing below, does not compile: it
 * would be accepted, and filter nothing.
 */
type FilledIn = Required<Pick<MaterialListQuery, keyof typeof defaultOf>>;

/** An unknown sort key or direction is ignored; the schema has checked everything else (contract §2 "List"). */
function withDefaults(input: ListQuery): FilledIn {
  return {
    page: input.page ?? defaultOf.page.default,
    pageSize: input.pageSize ?? defaultOf.pageSize.default,
    search: input.search,
    usageFilter: input.usageFilter ?? defaultOf.usageFilter.default,
    originFilter: input.originFilter ?? defaultOf.originFilter.default,
    sortBy: isSortKey(input.sortBy) ? input.sortBy : defaultOf.sortBy.default,
    sortOrder: input.sortOrder === 'desc' ? 'desc' : defaultOf.sortOrder.default,
    vendorFilter: input.vendorFilter ?? [],
  };
}

function isSortKey(text: string | undefined): text is SortKey {
  return sortKeys.some((key) => key === text);
}

import type { InventoryLevels } from '../../shared/contract/inventory-levels.js';
import { findLevels } from '../../shared/database/levels.js';
import { fail, succeed } from '../../shared/domain/errors.js';
import type { Refusal, Result } from '../../shared/domain/errors.js';
import { materialIdKind } from '../../shared/domain/material-id.js';
import { platformErrorMessages } from '../../shared/platform/commerce-platform.js';
import type { PlatformError, PlatformLevel } from '../../shared/platform/commerce-platform.js';
import type { Caller } from '../caller.js';
import type { Services } from '../services.js';
import { materialNotFound, refuseToRead } from './material-refusals.js';

export interface ReadLevelsInput {
  variantId: string;
  /** Only these; at most 250. Empty or undefined: all that have a level. */
  locationIds: readonly string[] | undefined;
}

/**
 * The levels of a material (contract §2 "Inventory read"): a virtual one's from Postgres, never with a call out; a
 * platform one's live from the platform, whether or not the mirror has fallen behind.
 * Errors: INVALID_INPUT, NOT_FOUND, SERVICE_UNAVAILABLE (`Reads.ask`), UPSTREAM_ERROR.
 */
export async function readLevels(
  services: Services,
  caller: Caller,
  { variantId, locationIds: wanted = [] }: ReadLevelsInput,
): Promise<Result<InventoryLevels>> {
  // An empty filter is no filter, as everywhere: agents send an empty list for one that they do not want.
  const locationIds = wanted.length === 0 ? undefined : wanted;
  const refusal = refuseToRead(variantId);
  if (refusal !== undefined) return refusal;
  // Our own tables are read for a platform material too: they tell an unknown one without a call to the platform, and
  // which of the wanted locations the shop has.
  const shopId = caller.shop.id;
  const found = await services.reads.ask(shopId, (database) => findLevels(database, shopId, variantId, locationIds));
  if (!found.ok) return found;
  const ours = found.data;
  if (ours === undefined) return materialNotFound;
  if (materialIdKind(variantId) === 'virtual') return succeed({ variantId, origin: 'virtual', ...ours });
  const theirs = await readFromPlatform(services, caller, variantId);
  if (!theirs.ok) return theirs;
  const levels = locationIds === undefined ? theirs.data : atWanted(locationIds, ours.levels, theirs.data);
  return succeed({ variantId, origin: 'platform', totalQuantity: totalOf(theirs.data), levels: sorted(levels) });
}

/** All levels of the variant, whatever the filter: the total is over all, and a filter would not save a page. */
async function readFromPlatform(
  services: Services,
  { shop }: Caller,
  variantId: string,
): Promise<Result<PlatformLevel[]>> {
  const opened = services.openPlatformShop(shop);
  // Whoever asks can do nothing about a token; the log tells the operator.
  if (!opened.ok) return upstreamError(opened.error === 'token-unreadable' ? 'not-callable' : opened.error);
  const read = await services.platform.readLevels(opened.platformShop, variantId);
  if (read.ok) return read;
  return read.error === 'not-found' ? materialNotFound : upstreamError(read.error);
}

function upstreamError(error: PlatformError): Refusal {
  return fail('UPSTREAM_ERROR', platformErrorMessages[error]);
}

type Level = InventoryLevels['levels'][number];

/**
 * The levels at the wanted locations that the shop has, at 0 where the platform has no level (contract §2). A location
 * where the platform has one counts as the shop's, though the mirror may not know it yet: a filter must not hide what
 * is shown without it.
 */
function atWanted(wanted: readonly string[], ours: readonly Level[], theirs: readonly PlatformLevel[]): Level[] {
  const ids = new Set(wanted);
  const none = ours.map(({ locationId }) => ({ locationId, quantity: 0, updatedAt: null }));
  const found = theirs.filter(({ locationId }) => ids.has(locationId));
  return [...new Map([...none, ...found].map((level) => [level.locationId, level])).values()];
}

/** Bytewise, as Postgres sorts those of a virtual material. */
function sorted(levels: readonly Level[]): Level[] {
  return levels.toSorted((a, b) => Buffer.from(a.locationId).compare(Buffer.from(b.locationId)));
}

/** Levels of a platform are whole units, and their sum is far below where a double loses units. */
function totalOf(levels: readonly PlatformLevel[]): number {
  return levels.reduce((total, { quantity }) => total + quantity, 0);
}

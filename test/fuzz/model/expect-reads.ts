import { shownNumber } from './amounts.js';
import { placeOf, shownMaterial, totalOf } from './stock-model.js';
import type { Expected, MaterialModel, ShopModel } from './stock-model.js';
import { compareTexts, lowerCase } from './texts.js';

export interface ListSent {
  search?: string;
  usageFilter?: string;
  originFilter?: string;
  sortBy?: string;
  sortOrder?: string;
  vendorFilter: readonly string[];
  page?: number;
  pageSize?: number;
}

export interface HistorySent {
  locationId?: string;
  requestId?: string;
}

const invalidId: Expected = { status: 400, code: 'INVALID_INPUT', paths: ['variantId'] };
const notFound: Expected = { status: 404, code: 'NOT_FOUND' };

/** The material an id means, or what is answered where it means none (contract §1). */
function found(shop: ShopModel, id: string): MaterialModel | Expected {
  return shop.materials.get(id) ?? (/^(VMAT-|\d{1,20}$)/.test(id) ? notFound : invalidId);
}

export function expectMaterial(shop: ShopModel, id: string, withConnections: boolean): Expected {
  const material = found(shop, id);
  if ('status' in material) return material;
  const connections = { billOfMaterials: material.bills, subAssemblies: [] };
  const data = { ...shownMaterial(material), ...(withConnections && { connections }) };
  return { status: 200, data, etag: `"${String(material.version)}"` };
}

/** The platform is not connected, so the levels of its materials cannot be had. */
export function expectLevels(shop: ShopModel, id: string, locationIds: readonly string[] | undefined): Expected {
  const material = found(shop, id);
  if ('status' in material) return material;
  if (material.origin === 'platform') return { status: 502, code: 'UPSTREAM_ERROR' };
  const { levels } = material;
  const wanted =
    locationIds === undefined ? [...levels.keys()] : shop.locations.filter((at) => locationIds.includes(at));
  return {
    status: 200,
    data: {
      variantId: id,
      origin: 'virtual',
      totalQuantity: shownNumber(totalOf(material)),
      levels: wanted.sort().map((locationId) => ({
        locationId,
        quantity: shownNumber(levels.get(locationId) ?? 0n),
        updatedAt: levels.has(locationId) ? '(time)' : null,
      })),
    },
  };
}

/**
 * The whole history, newest first; the caller compares it page by page. What ran side by side stands as `places` says;
 * of one request alone, each row stands above the one before it.
 */
export function expectHistory(shop: ShopModel, id: string, sent: HistorySent): Expected {
  const material = found(shop, id);
  if ('status' in material) return material;
  const inPlace = material.history.map((entry, index) => ({ entry, place: placeOf(material, entry) ?? index }));
  if (sent.requestId === undefined) inPlace.sort((one, other) => one.place - other.place);
  const items = inPlace
    .map(({ entry }) => entry)
    .filter(({ locationId }) => sent.locationId === undefined || sent.locationId === locationId)
    .filter(({ requestId }) => sent.requestId === undefined || sent.requestId === requestId)
    .reverse()
    .map((entry) => ({ ...entry, at: '(time)', channel: 'rest', keyId: shop.writeKeyId, operationId: '(id)' }));
  return { status: 200, data: items };
}

export function expectList(shop: ShopModel, sent: ListSent): Expected {
  const { page = 1, pageSize = 50 } = sent;
  const all = [...shop.materials.values()];
  const matching = all.filter((material) => matches(material, sent)).sort(orderOf(sent));
  const vendors = new Set(
    all.flatMap(({ fields }) => (typeof fields['vendor'] === 'string' ? [fields['vendor']] : [])),
  );
  return {
    status: 200,
    data: {
      items: matching.slice((page - 1) * pageSize, page * pageSize).map(shownMaterial),
      totalCount: matching.length,
      page,
      pageSize,
      totalPages: Math.ceil(matching.length / pageSize),
      availableVendors: [...vendors].sort(
        (one, other) => compareTexts(lowerCase(one), lowerCase(other)) || compareTexts(one, other),
      ),
    },
  };
}

function matches({ origin, fields, bills }: MaterialModel, sent: ListSent): boolean {
  const { search = '', usageFilter = 'all', originFilter = 'all', vendorFilter } = sent;
  const searched = ['productName', 'variantName', 'sku', 'vendor'].some((name) =>
    lowerCase(String(fields[name] ?? '')).includes(lowerCase(search)),
  );
  return (
    searched &&
    (usageFilter === 'all' || (usageFilter === 'used') === bills.length > 0) &&
    (originFilter === 'all' || originFilter === origin) &&
    (vendorFilter.length === 0 || vendorFilter.some((vendor) => vendor === fields['vendor']))
  );
}

/** Not the service's own list, since that is held against the model; without times, of which the model tells none. */
export const modelSortKeys = ['productName', 'variantName', 'sku', 'vendor', 'unitCost', 'inventoryQuantity'];

function orderOf({ sortBy = '', sortOrder }: ListSent): (one: MaterialModel, other: MaterialModel) => number {
  const key = modelSortKeys.includes(sortBy) ? sortBy : 'productName';
  const direction = sortOrder === 'desc' ? -1 : 1;
  const valueOf = (material: MaterialModel) => {
    const value = shownMaterial(material)[key];
    return typeof value === 'string' ? lowerCase(value) : (value as number | null);
  };
  return (one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a === b) return compareTexts(one.id, other.id);
    if (a === null || b === null) return a === null ? 1 : -1;
    return direction * (typeof a === 'number' ? a - Number(b) : compareTexts(a, String(b)));
  };
}

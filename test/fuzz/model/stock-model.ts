import { amountOf, shownNumber } from './amounts.js';
import type { Amount } from './amounts.js';

/** A shop by the contract alone, written out again: none of the service's own rules is imported here. */
export interface ShopModel {
  allowNegative: boolean;
  defaultLocation: string | undefined;
  locations: readonly string[];
  materials: Map<string, MaterialModel>;
  /** By method, path and key: what was executed under an Idempotency-Key. */
  remembered: Map<string, { meaning: string; expected: Expected }>;
  writeKeyId: string;
  /** Of the writes so far, in their order. */
  requestIds: string[];
}

export interface MaterialModel {
  id: string;
  origin: 'virtual' | 'platform';
  fields: Fields;
  version: number;
  levels: Map<string, Amount>;
  /** Of a platform material, whose levels are not ours. */
  mirrored: Amount;
  bills: { id: string; name: string; quantity: number }[];
  /** Oldest first. */
  history: HistoryEntry[];
  /**
   * Where an entry of writes that ran side by side stands in the history, by `placeKey`: they may be of one
   * transaction, whose entries of different levels are sorted by the ids of their operations.
   */
  places: Map<string, number>;
}

/** The editable fields but for the stock, as they are shown. */
export type Fields = Record<string, string | number | boolean | null>;

export interface HistoryEntry {
  locationId: string;
  sequence: number;
  requested: { delta: number } | { absolute: number };
  previous: number;
  applied: number;
  level: number;
  clamped: boolean;
  requestId: string;
  reason: string | null;
  reference: string | null;
}

export function placeKey({ locationId, sequence }: Pick<HistoryEntry, 'locationId' | 'sequence'>): string {
  return `${String(sequence)}@${locationId}`;
}

export function placeOf({ places }: MaterialModel, entry: HistoryEntry): number | undefined {
  return places.get(placeKey(entry));
}

/** What the service must answer. Times and ids that it makes up stand as `(time)` and `(id)`. */
export interface Expected {
  status: number;
  code?: string;
  /** The paths of `details`, sorted. */
  paths?: string[];
  data?: unknown;
  etag?: string;
  replayed?: boolean;
  applied?: string;
}

/** Texts of numbers as they are sent; exactly one of `delta` and `absolute`. */
export interface RowModel {
  locationId: string;
  delta?: string;
  absolute?: string;
  expected?: string;
  reason?: string;
  reference?: string;
}

export interface RowEffect {
  ok: boolean;
  code?: 'NOT_FOUND' | 'INVALID_INPUT' | 'CONFLICT';
  previous: Amount;
  applied: Amount;
  level: Amount;
  clamped: boolean;
}

const bound = 8_000_000_000n * 1_000_000n;

export function totalOf({ origin, levels, mirrored }: MaterialModel): Amount {
  if (origin === 'platform') return mirrored;
  return [...levels.values()].reduce((total, level) => total + level, 0n);
}

/** Applies one row to a material and returns what it did (contract §3.3–§3.5). */
export function runRow(shop: ShopModel, material: MaterialModel, row: RowModel, requestId: string): RowEffect {
  const level = material.levels.get(row.locationId) ?? 0n;
  const failed = (code: RowEffect['code']) => ({
    ok: false,
    ...(code && { code }),
    previous: level,
    applied: 0n,
    level,
    clamped: false,
  });
  if (!shop.locations.includes(row.locationId)) return failed('NOT_FOUND');
  if (row.expected !== undefined && amountOf(row.expected) !== level) return failed('CONFLICT');
  const wanted = row.absolute === undefined ? amountOf(row.delta ?? '0') : amountOf(row.absolute) - level;
  let applied = wanted;
  if (row.absolute === undefined && wanted < 0n && !shop.allowNegative) {
    const held = level > 0n ? level : 0n;
    if (-wanted > held) applied = -held;
  }
  const after = level + applied;
  const total = totalOf(material) + applied;
  if (after > bound || after < -bound || total > bound || total < -bound) return failed('INVALID_INPUT');
  const clamped = applied !== wanted;
  material.levels.set(row.locationId, after);
  material.history.push({
    locationId: row.locationId,
    sequence: material.history.filter(({ locationId }) => locationId === row.locationId).length + 1,
    requested:
      row.absolute === undefined
        ? { delta: shownNumber(amountOf(row.delta ?? '0')) }
        : { absolute: shownNumber(amountOf(row.absolute)) },
    previous: shownNumber(level),
    applied: shownNumber(applied),
    level: shownNumber(after),
    clamped,
    requestId,
    reason: row.reason ?? null,
    reference: row.reference ?? null,
  });
  return { ok: true, previous: level, applied, level: after, clamped };
}

/** The level at the default location that makes the total as wanted; undefined if there is none (contract §4). */
export function rowForTotal(shop: ShopModel, material: MaterialModel, wanted: Amount): Amount | undefined {
  const { defaultLocation } = shop;
  if (defaultLocation === undefined) return undefined;
  const others = totalOf(material) - (material.levels.get(defaultLocation) ?? 0n);
  const target = wanted - others;
  return target < 0n || target > bound ? undefined : target;
}

export function shownMaterial(material: MaterialModel): Record<string, unknown> {
  const { id, origin, fields, bills } = material;
  return {
    id,
    variantId: id,
    origin,
    ...fields,
    inventoryQuantity: shownNumber(totalOf(material)),
    usage: { billOfMaterials: bills.length, subAssemblies: 0 },
    createdAt: '(time)',
    updatedAt: '(time)',
  };
}

/** A copy whose stock can be changed without changing this one's: for a dry run. */
export function copyOf(material: MaterialModel): MaterialModel {
  return { ...material, levels: new Map(material.levels), history: [...material.history] };
}

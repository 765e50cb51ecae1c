import { levelMaxMicros, toUnits } from './quantity.js';
import type { Micros } from './quantity.js';

/**
 * One validated row of an inventory batch; exactly one of `delta` and `absolute` is there (spec §Inventory batch
 * request row).
 */
export interface AdjustmentRow {
  locationId: string;
  delta?: Micros;
  absolute?: Micros;
  /** Apply only while the level equals this (contract §7). */
  expected?: Micros;
  /** Free text for the ledger (contract §7). */
  reason?: string;
  reference?: string;
}

/** What the rows before it have left when a row is run. */
export interface StockBefore {
  /** 0 where nothing was ever booked at the location (contract §3.4). */
  level: Micros;
  /** The sum of all levels of the material. */
  total: Micros;
  allowNegative: boolean;
}

export type RowFailureCode = 'NOT_FOUND' | 'INVALID_INPUT' | 'CONFLICT';

export interface RowApplied {
  ok: true;
  previous: Micros;
  applied: Micros;
  level: Micros;
  /**
   * True where less than the wanted delta was applied, since the level stops at zero (spec §PATCH inventory, rule 4).
   */
  clamped: boolean;
}

export type RowOutcome = RowApplied | { ok: false; code: RowFailureCode; message: string };

/**
 * The rule of stock: what one row does to one level (spec §PATCH /raw-materials/{variantId}/inventory, contract §3).
 * A row that fails changes nothing.
 */
export function adjustLevel(row: AdjustmentRow, before: StockBefore): RowOutcome {
  const { level, total } = before;
  if (row.expected !== undefined && row.expected !== level) {
    return refuse('CONFLICT', `The level is ${toUnits(level)}, not the expected ${toUnits(row.expected)}.`);
  }
  const wanted = row.absolute === undefined ? (row.delta ?? 0) : row.absolute - level;
  // An absolute is never below zero, so what it asks for is never clamped.
  const applied = appliedDelta(wanted, before);
  if (Math.abs(level + applied) > levelMaxMicros) {
    return refuse('INVALID_INPUT', `The level would leave its bounds of ±${toUnits(levelMaxMicros)}.`);
  }
  if (Math.abs(total + applied) > levelMaxMicros) {
    return refuse('INVALID_INPUT', `The material's total would leave its bounds of ±${toUnits(levelMaxMicros)}.`);
  }
  return { ok: true, previous: level, applied, level: level + applied, clamped: applied !== wanted };
}

/**
 * The clamp (contract §3.5): if negative inventory is not allowed, a negative delta stops at zero. It never raises a
 * level that is already below zero, as it may be if the shop's setting was switched.
 */
function appliedDelta(delta: Micros, { level, allowNegative }: StockBefore): Micros {
  if (allowNegative) return delta;
  // `0 -` and not a unary minus, which would turn an empty level into negative zero.
  return Math.max(delta, 0 - Math.max(level, 0));
}

export interface WrittenTotal {
  target: Micros;
  /** Of the material, as it is now. */
  total: Micros;
  /** Undefined if the shop has none. */
  defaultLocation: { id: string; level: Micros } | undefined;
}

/**
 * The row that makes a material's total `target` by setting the level of the shop's default location to what the other
 * levels leave over (contract §4).
 *
 * @returns the absolute row, or why there can be none
 */
export function rowForTotal({
  target,
  total,
  defaultLocation,
}: WrittenTotal): { ok: true; row: AdjustmentRow } | { ok: false; message: string } {
  if (defaultLocation === undefined)
    return { ok: false, message: 'The shop has no default location to book a total at.' };
  const others = total - defaultLocation.level;
  const absolute = target - others;
  if (absolute < 0) {
    return { ok: false, message: `The other locations already hold ${toUnits(others)}, more than the wanted total.` };
  }
  if (absolute > levelMaxMicros) {
    return { ok: false, message: `The default location would hold more than ${toUnits(levelMaxMicros)}.` };
  }
  return { ok: true, row: { locationId: defaultLocation.id, absolute } };
}

export function unknownLocation(locationId: string): RowOutcome {
  return refuse('NOT_FOUND', `The shop has no location ${locationId}.`);
}

function refuse(code: RowFailureCode, message: string): RowOutcome {
  return { ok: false, code, message };
}

import { materialChangesSchema } from '../contract/material-changes.js';
import { readMaterialChanges } from '../contract/read-material-changes.js';
import { findJsonFault } from '../contract/json-fault.js';
import { isJsonObject } from '../contract/json-object.js';
import { rowForTotal } from '../domain/adjustment.js';
import { materialIdKind } from '../domain/material-id.js';
import type { NewMaterialFields } from '../domain/material.js';
import { inputMaxUnits, toMicros } from '../domain/quantity.js';
import { openStock } from '../inventory/opening-stock.js';
import type { OpenedStock, OpeningLevel } from '../inventory/opening-stock.js';
import { shownName } from './format-table.js';
import type { FileFormat } from './read-records.js';

/** What a good record says. */
export interface ParsedRecord {
  /** Undefined where it is to be drawn. */
  id: string | undefined;
  fields: NewMaterialFields;
  stock: OpenedStock;
}

export interface ImportShop {
  locationIds: ReadonlySet<string>;
  defaultLocationId: string | null;
}

/** What a column or a property may be called: the editable fields, and these two. */
export const importFields: readonly string[] = ['id', 'levels', ...Object.keys(materialChangesSchema.properties)];

/** A line whose levels are at 200 locations of another shop would else have as many: 0.7 GiB for 12,000 such lines. */
const faultsMax = 10;

/**
 * A record by the rules of the API's fields (contract §2), with its faults as sentences: the first ten, and how many
 * more there are.
 *
 * @param format of a CSV file every value is the text of a cell; of JSONL they have types of their own
 */
export function parseImportRecord(
  values: Record<string, unknown>,
  format: FileFormat,
  shop: ImportShop,
): { ok: true; record: ParsedRecord } | { ok: false; faults: string[] } {
  const faults: string[] = [];
  const { id: givenId, levels, ...given } = values;
  const id = givenId ?? undefined;
  if (format === 'jsonl') {
    for (const name of Object.keys(given)) {
      if (!importFields.includes(name)) faults.push(`${shownName(name)}: Is no known field.`);
    }
  }
  if (id !== undefined && (typeof id !== 'string' || materialIdKind(id) !== 'virtual')) {
    faults.push('id: Must be VMAT- and 1 to 64 letters, digits or hyphens.');
  }
  const read = readMaterialChanges(format === 'csv' ? typed(given) : given);
  if (!read.ok) {
    for (const { path, message } of read.error.details ?? []) {
      const name = path.slice(1);
      const isNoNumber = format === 'csv' && numberFields.has(name) && toNumber(String(given[name])) === undefined;
      faults.push(`${name}: ${isNoNumber ? 'Must be a decimal number, as 12.5.' : message}`);
    }
  }
  if (given['productName'] === undefined) faults.push('productName: Is required.');
  const { inventoryQuantity, ...fields } = read.ok ? read.data : {};
  const stock = readStock({ levels: levels ?? undefined, inventoryQuantity }, shop);
  if (!stock.ok) faults.push(...stock.faults);
  if (faults.length > 0 || !stock.ok) return { ok: false, faults: firstOf(faults) };
  const record = { id: id as string | undefined, fields: fields as NewMaterialFields, stock: stock.stock };
  return { ok: true, record };
}

function firstOf(faults: string[]): string[] {
  const more = faults.length - faultsMax;
  return more > 0 ? [...faults.slice(0, faultsMax), `And ${String(more)} more.`] : faults;
}

type StockResult = { ok: true; stock: OpenedStock } | { ok: false; faults: string[] };

function readStock(
  { levels, inventoryQuantity }: { levels: unknown; inventoryQuantity: number | undefined },
  shop: ImportShop,
): StockResult {
  if (levels === undefined && inventoryQuantity === undefined) return { ok: true, stock: { total: 0, levels: [] } };
  if (levels !== undefined && inventoryQuantity !== undefined) {
    return { ok: false, faults: ['levels: Cannot be given together with inventoryQuantity.'] };
  }
  const opening =
    inventoryQuantity === undefined
      ? readLevels(levels, shop)
      : levelForTotal(inventoryQuantity, shop.defaultLocationId);
  if (!opening.ok) return opening;
  const opened = openStock(opening.levels);
  return opened.ok ? opened : { ok: false, faults: [`levels: ${opened.message}`] };
}

type LevelsResult = { ok: true; levels: OpeningLevel[] } | { ok: false; faults: string[] };

/** As a written `inventoryQuantity` is booked everywhere (contract §4). */
function levelForTotal(target: number, defaultLocationId: string | null): LevelsResult {
  const defaultLocation = defaultLocationId === null ? undefined : { id: defaultLocationId, level: 0 };
  const row = rowForTotal({ target, total: 0, defaultLocation });
  if (!row.ok) return { ok: false, faults: [`inventoryQuantity: ${row.message}`] };
  return { ok: true, levels: [{ locationId: row.row.locationId, quantity: target }] };
}

/** `{ "70001": 12.5 }`, as JSON or as the text of it, or `70001:12.5;70002:3`. */
function readLevels(given: unknown, { locationIds }: ImportShop): LevelsResult {
  const pairs = levelPairs(given);
  if (pairs === undefined) {
    return { ok: false, faults: ['levels: Must be location:quantity;location:quantity, or a JSON object of these.'] };
  }
  const fault = typeof given === 'string' && given.startsWith('{') ? findJsonFault(given) : undefined;
  if (fault !== undefined) return { ok: false, faults: [`levels${shownName(fault.path)}: ${fault.message}`] };
  const faults: string[] = [];
  const levels: OpeningLevel[] = [];
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const [locationId, quantity] of pairs) {
    if (seen.has(locationId)) twice.add(locationId);
    else if (!locationIds.has(locationId)) faults.push(`levels: The shop has no location ${shownName(locationId)}.`);
    else if (typeof quantity !== 'number' || !(quantity >= 0 && quantity <= inputMaxUnits)) {
      faults.push(`levels: The quantity at ${shownName(locationId)} must be a number from 0 to ${inputMaxUnits}.`);
    } else levels.push({ locationId, quantity: toMicros(quantity) });
    seen.add(locationId);
  }
  for (const locationId of twice) faults.push(`levels: The location ${shownName(locationId)} is given more than once.`);
  return faults.length > 0 ? { ok: false, faults } : { ok: true, levels };
}

function levelPairs(given: unknown): [string, unknown][] | undefined {
  if (isJsonObject(given)) return Object.entries(given);
  if (typeof given !== 'string') return undefined;
  if (given.startsWith('{')) {
    try {
      const parsed: unknown = JSON.parse(given);
      return isJsonObject(parsed) ? Object.entries(parsed) : undefined;
    } catch {
      return undefined;
    }
  }
  const pairs: [string, unknown][] = [];
  for (const part of given.split(';')) {
    // The last colon divides, since a location's id may hold one.
    const colon = part.lastIndexOf(':');
    const locationId = part.slice(0, Math.max(colon, 0)).trimStart();
    if (locationId === '') return undefined;
    pairs.push([locationId, toNumber(part.slice(colon + 1))]);
  }
  return pairs;
}

const numberFields = new Set(['unitCost', 'unitPrice', 'inventoryQuantity', 'weightValue']);

/** Cells as the values they stand for; what cannot be read as its type stays text, which the schema then refuses. */
function typed(cells: Record<string, unknown>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, cell] of Object.entries(cells)) {
    if (typeof cell !== 'string') continue;
    if (numberFields.has(name)) values[name] = toNumber(cell) ?? cell;
    else if (name === 'isNonEssentialMaterial') values[name] = toBoolean(cell.trim().toLowerCase()) ?? cell;
    else values[name] = cell;
  }
  return values;
}

/** A decimal, with an exponent where a spreadsheet writes one. No two parts of the pattern take the same digits. */
function toNumber(text: string): number | undefined {
  return /^-?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : undefined;
}

function toBoolean(text: string): boolean | undefined {
  if (text === 'true') return true;
  return text === 'false' ? false : undefined;
}

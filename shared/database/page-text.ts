import type { MaterialRow } from './material-rows.js';

// How much text the materials of a page have, which is measured before it is fetched. Without a bound, a thousand
// materials with the longest texts were a page of 52 MB, and the process had 800 MiB. Measuring adds 0.65 ms to the 3.6
// that Postgres takes for a page of a thousand: it knows the size of a long text without reading it.

/** What one character may take as JSON: `\u0001` is one byte in Postgres. */
const escapedBytesMax = 6;
/** The texts of a material, and the most characters of each (migration 0001). */
const charactersMax = {
  product_name: 255,
  variant_name: 255,
  sku: 255,
  vendor: 255,
  unit: 16,
  specifications: 10_000,
  image_url: 2_048,
  weight_unit_id: 64,
} as const;
const textColumns = Object.keys(charactersMax) as (keyof typeof charactersMax)[];
const materialBytesMax = escapedBytesMax * Object.values(charactersMax).reduce((sum, max) => sum + max, 0);

/** Whether a page of so many materials may have more text than `bytesMax` as JSON, and so has to be measured. */
export function isMeasured(pageSize: number, bytesMax: number | undefined): bytesMax is number {
  return bytesMax !== undefined && pageSize * materialBytesMax > bytesMax;
}

/** To be selected beside `materialColumns` for a page that is measured; `text_octets` is the sum of all of its rows. */
export const measuringColumns = `
  CAST(sum(${textColumns.map((name) => `coalesce(octet_length(m.${name}), 0)`).join(' + ')}) OVER () AS integer) AS text_octets,
  row_number() OVER () AS place`;

/** If the page has more than `:textBytesMax`, only one row is fetched, which says how much it has. */
export const fetchedCondition = '(items.text_octets <= :textBytesMax OR items.place = 1)';

export interface PageRow extends MaterialRow {
  /** Only where the page is measured. */
  text_octets?: number;
}

/**
 * How many bytes the texts of a page take as JSON, if that is more than `bytesMax`.
 *
 * @param rows fetched with `fetchedCondition`
 */
export function bytesBeyond(bytesMax: number, rows: readonly PageRow[]): number | undefined {
  const octets = rows[0]?.text_octets ?? 0;
  if (octets > bytesMax) return octets;
  if (octets * escapedBytesMax <= bytesMax) return undefined;
  const bytes = rows.reduce((sum, row) => sum + escapesOf(row), octets);
  return bytes > bytesMax ? bytes : undefined;
}

/** By how many bytes escapes make the texts longer: they are ASCII. 18 ms of CPU for 10 MB; a loop takes 28. */
function escapesOf(row: PageRow): number {
  const texts = textColumns.map((name) => row[name] ?? '');
  return texts.reduce((sum, text) => sum + JSON.stringify(text).length - '""'.length - text.length, 0);
}

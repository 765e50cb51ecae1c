import type { Database } from './connect.js';
import type { NewLocation } from './locations.js';
import { opaqueShopId } from './opaque-shop-id.js';
import { syncColumns, toSync, whileHeld } from './platform-syncs.js';
import type { KnownRun, PlatformSync, SyncHold, SyncPhase, SyncRow } from './platform-syncs.js';

/**
 * What the platform says of a variant, within the table's limits. The other fields of the material are the shop's own.
 */
export interface MirroredVariant {
  /** Plain digits. */
  id: string;
  productName: string;
  variantName: string | null;
  sku: string | null;
  vendor: string | null;
  /** Decimals as text. */
  unitPrice: string | null;
  unitCost: string | null;
  imageUrl: string | null;
  /** Whole units. */
  inventoryQuantity: number;
}

/** Where a run goes on after a page: at which list, and at which cursor of it. */
export interface SyncPosition {
  phase: Exclude<SyncPhase, 'idle'>;
  cursor: string | null;
}

export interface RecordedPage {
  sync: PlatformSync;
  /** How many of the page this run had not seen before. */
  freshCount: number;
}

/**
 * Brings a page of locations into the shop's: new ones are added, others get the platform's name. The page commits
 * together with the new position of the run, so that it is never half written, nor written and forgotten.
 *
 * @param known the run before this page
 * @param locations ids distinct
 * @param then where it goes on after this page
 * @returns undefined if the hold is lost or the run is not as `known`: then nothing was written
 */
export async function recordLocations(
  database: Database,
  hold: SyncHold,
  known: KnownRun,
  locations: readonly NewLocation[],
  then: SyncPosition,
): Promise<RecordedPage | undefined> {
  const given = JSON.stringify(locations);
  return recordPage(database, hold, known, then, { locks: [], sql: writeLocations, given, kind: 'locations' });
}

/**
 * Brings a page of variants into the shop's materials, with the platform's quantity as their total; otherwise as
 * `recordLocations`. Levels and the ledger are not touched: a platform material has none here. Nor are fields that the
 * platform does not know (unit, specifications, weight), and a material in which nothing changed keeps version and
 * time.
 */
export async function recordVariants(
  database: Database,
  hold: SyncHold,
  known: KnownRun,
  variants: readonly MirroredVariant[],
  then: SyncPosition,
): Promise<RecordedPage | undefined> {
  const given = JSON.stringify(variants.map(toRecord));
  const locks = [lockMaterials, lockStock, makeFacets];
  return recordPage(database, hold, known, then, { locks, sql: writeVariants, given, kind: 'variants' });
}

interface PageWrite {
  /** What takes the locks of the write before it, in their order. */
  locks: readonly string[];
  sql: string;
  given: string;
  kind: 'locations' | 'variants';
}

async function recordPage(
  database: Database,
  hold: SyncHold,
  known: KnownRun,
  then: SyncPosition,
  { locks, sql, given, kind }: PageWrite,
): Promise<RecordedPage | undefined> {
  return whileHeld(database, hold, known, async (transaction) => {
    const { shopId } = hold;
    const { generation } = known;
    for (const lock of locks) await transaction.raw(lock, { shopId, given });
    const written = await transaction.raw<{ rows: WrittenRow[] }>(sql, { shopId, generation, given });
    const { fresh = 0, added = 0, changed = 0 } = written.rows[0] ?? {};
    const { rows } = await transaction.raw<{ rows: SyncRow[] }>(
      `UPDATE platform_syncs AS p
       SET phase = :phase, cursor = CAST(:cursor AS text), pages = p.pages + 1, page_at = now(),
           ${kind}_seen = p.${kind}_seen + :fresh, ${kind}_added = p.${kind}_added + :added,
           ${kind}_changed = p.${kind}_changed + :changed
       WHERE p.shop_id = :shopId RETURNING ${syncColumns}`,
      { shopId, phase: then.phase, cursor: then.cursor, fresh, added, changed },
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the row of a sync is gone while it is locked');
    return { sync: toSync(row), freshCount: fresh };
  });
}

interface WrittenRow {
  fresh: number;
  added: number;
  changed: number;
}

/** Marks the page as seen in this run; returns the rows that this run had not seen before. */
const markSeen = (kind: 'location' | 'variant') => `
  seen AS (
    INSERT INTO platform_sightings AS s (shop_id, kind, id, generation)
    SELECT :shopId, '${kind}', id, :generation FROM given ORDER BY id
    ON CONFLICT (shop_id, kind, id) DO UPDATE SET generation = excluded.generation, gone_since = NULL
    WHERE s.generation <> excluded.generation
    RETURNING id
  )`;

/**
 * The rows of the shop with the given ids, each looked up by its key (`OFFSET 0`, `opaqueShopId`). In a join Postgres
 * read the whole shop for each page where its statistics did not know of it, as during a first mirroring: 0.25 s for a
 * page of 50 with 60,000 materials.
 */
const ofGiven = (table: 'locations' | 'materials', columns: string) =>
  `LATERAL (SELECT ${columns} FROM ${table} t WHERE t.shop_id = ${opaqueShopId} AND t.id = given.id OFFSET 0)`;

const writeLocations = `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset(CAST(:given AS jsonb)) AS r (id text, name text)
  ),
  ${markSeen('location')},
  known AS (SELECT l.id FROM given CROSS JOIN ${ofGiven('locations', 't.id')} l),
  written AS (
    INSERT INTO locations AS l (shop_id, id, name)
    SELECT :shopId, id, name FROM given ORDER BY id
    ON CONFLICT (shop_id, id) DO UPDATE SET name = excluded.name WHERE l.name <> excluded.name
    RETURNING id
  )
  SELECT (SELECT count(*) FROM seen)::integer AS fresh,
         (SELECT count(*) FROM written WHERE id NOT IN (SELECT id FROM known))::integer AS added,
         (SELECT count(*) FROM written WHERE id IN (SELECT id FROM known))::integer AS changed`;

const idsGiven = `ARRAY (SELECT g.id FROM jsonb_to_recordset(CAST(:given AS jsonb)) AS g (id text))`;

/**
 * A page takes its locks in the same order as a change of a bill (migration 0009): the materials, their stock, then new
 * facets, each sorted. By itself `writeVariants` would lock the first row of stock before any material, and facets in
 * the order of the variants, and deadlocked with a bill of the same materials or vendors.
 */
const lockMaterials = `
  SELECT 1 FROM materials m WHERE m.shop_id = ${opaqueShopId} AND m.id = ANY (${idsGiven})
  ORDER BY m.id FOR NO KEY UPDATE`;
const lockStock = `
  SELECT 1 FROM stock t WHERE t.shop_id = ${opaqueShopId} AND t.material_id = ANY (${idsGiven})
  ORDER BY t.material_id FOR NO KEY UPDATE`;

/**
 * For variants that are new or have another vendor. Their use, a bit of `facet_id`, cannot change while they are
 * locked.
 */
const makeFacets = `
  SELECT facet_of(:shopId, wanted.vendor, 'platform', wanted.is_used)
  FROM (
    SELECT DISTINCT given.vendor, coalesce((m.facet_id & 1) = 1, false) AS is_used
    FROM jsonb_to_recordset(CAST(:given AS jsonb)) AS given (id text, vendor text)
    LEFT JOIN ${ofGiven('materials', 't.id, t.vendor, t.facet_id')} m ON true
    WHERE m.id IS NULL OR m.vendor IS DISTINCT FROM given.vendor
    ORDER BY vendor, is_used
  ) AS wanted`;

/**
 * The row of stock is also written if only the fields changed, since it says when the material last changed. A known
 * variant comes with the facet that it has: without one, the trigger of an INSERT would first draw a facet of unused
 * materials, though the row is there and is updated.
 */
const writeVariants = `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset(CAST(:given AS jsonb)) AS r (
      id text, product_name text, variant_name text, sku text, vendor text, unit_price numeric, unit_cost numeric,
      image_url text, total_quantity numeric)
  ),
  ${markSeen('variant')},
  known AS (SELECT m.id, m.facet_id FROM given CROSS JOIN ${ofGiven('materials', 't.id, t.facet_id')} m),
  written AS (
    INSERT INTO materials AS m (shop_id, id, origin, facet_id, product_name, variant_name, sku, vendor, unit_price,
                                unit_cost, image_url)
    SELECT :shopId, id, 'platform', facet_id, product_name, variant_name, sku, vendor, unit_price, unit_cost, image_url
    FROM given LEFT JOIN known USING (id) ORDER BY id
    ON CONFLICT (shop_id, id) DO UPDATE
    SET product_name = excluded.product_name, variant_name = excluded.variant_name, sku = excluded.sku,
        vendor = excluded.vendor, unit_price = excluded.unit_price, unit_cost = excluded.unit_cost,
        image_url = excluded.image_url, version = m.version + 1
    WHERE (m.product_name, m.variant_name, m.sku, m.vendor, m.unit_price, m.unit_cost, m.image_url)
      IS DISTINCT FROM (excluded.product_name, excluded.variant_name, excluded.sku, excluded.vendor,
                        excluded.unit_price, excluded.unit_cost, excluded.image_url)
    RETURNING id
  ),
  stocked AS (
    INSERT INTO stock AS t (shop_id, material_id, total_quantity)
    SELECT :shopId, id, total_quantity FROM given ORDER BY id
    ON CONFLICT (shop_id, material_id) DO UPDATE SET total_quantity = excluded.total_quantity, updated_at = now()
    WHERE t.total_quantity <> excluded.total_quantity OR t.material_id IN (SELECT id FROM written)
    RETURNING material_id AS id
  )
  SELECT (SELECT count(*) FROM seen)::integer AS fresh,
         (SELECT count(*) FROM stocked WHERE id NOT IN (SELECT id FROM known))::integer AS added,
         (SELECT count(*) FROM stocked WHERE id IN (SELECT id FROM known))::integer AS changed`;

function toRecord(variant: MirroredVariant): Record<string, unknown> {
  return {
    id: variant.id,
    product_name: variant.productName,
    variant_name: variant.variantName,
    sku: variant.sku,
    vendor: variant.vendor,
    unit_price: variant.unitPrice,
    unit_cost: variant.unitCost,
    image_url: variant.imageUrl,
    total_quantity: variant.inventoryQuantity,
  };
}

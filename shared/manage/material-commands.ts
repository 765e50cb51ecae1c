import { Option } from 'commander';
import type { Command } from 'commander';
import { v4 as uuidv4 } from 'uuid';
import { listQuerySchema } from '../contract/list-query.js';
import { readMaterialChanges } from '../contract/read-material-changes.js';
import {
  facetsOfVendors,
  insertMaterialsWithStock,
  insertParameters,
} from '../database/insert-materials-with-stock.js';
import { listLocations } from '../database/locations.js';
import { findMaterialPage } from '../database/material-list.js';
import type { MaterialListQuery } from '../database/material-list.js';
import { sortKeys } from '../domain/list-order.js';
import { findMaterial } from '../database/materials.js';
import { virtualMaterialId } from '../domain/material-id.js';
import type { Material, NewMaterialFields } from '../domain/material.js';
import { openStock } from '../inventory/opening-stock.js';
import type { OpenedStock, OpeningLevel } from '../inventory/opening-stock.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { formatFields, formatTable } from './format-table.js';
import { addImportCommand } from './import-command.js';
import { collect, collectLevel, decimal, queryText, trueOrFalse, wholeNumber } from './option-parsers.js';
import { requireShop } from './require-shop.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';
import { addShopOption } from './shop-option.js';
import type { ShopOption } from './shop-option.js';

interface CreateOptions extends ShopOption {
  productName: string;
  level?: OpeningLevel[];
}

type ListOptions = ShopOption &
  Omit<MaterialListQuery, 'vendorFilter' | 'usageFilter' | 'originFilter'> & {
    usage: MaterialListQuery['usageFilter'];
    origin: MaterialListQuery['originFilter'];
    vendor?: string[];
  };

export function addMaterialCommands(program: Command, run: RunCommand): void {
  const materials = program.command('materials').description('Raw materials of a shop.');
  createOptions(
    materials.command('create').description('Adds a virtual material, with its opening stock if wished.'),
  ).action((options: CreateOptions, command: Command) => {
    const given = readGiven(options, command);
    return run(options, (context) => create(context, options.shop, given));
  });
  addImportCommand(materials, run);
  listOptions(materials.command('list').description('Lists materials by the same rules as the API.')).action(
    (options: ListOptions) => run(options, (context) => list(context, options)),
  );
}

function createOptions(command: Command): Command {
  return addShopOption(command)
    .requiredOption('--product-name <text>', '1 to 255 characters')
    .option('--variant-name <text>')
    .option('--sku <text>')
    .option('--unit <text>', 'as pcs, kg, m')
    .option('--unit-cost <number>', 'up to six places', decimal)
    .option('--unit-price <number>', 'up to six places', decimal)
    .option('--vendor <text>')
    .option('--specifications <text>')
    .option('--image-url <url>', 'http or https; never fetched')
    .option('--is-non-essential-material <true|false>', 'false unless said', trueOrFalse)
    .option('--weight-value <number>', 'up to six places', decimal)
    .option('--weight-unit-id <text>')
    .option('--level <location=quantity>', 'opening stock at a location; once for each location', collectLevel);
}

/** Bounds and defaults are those of the API's own parameters. */
function listOptions(command: Command): Command {
  const { page, pageSize, usageFilter, originFilter, sortBy, sortOrder } = listQuerySchema.properties;
  return addShopOption(command)
    .option('--page <number>', `from ${page.minimum}`, wholeNumber(page.minimum, page.maximum), page.default)
    .option(
      '--page-size <number>',
      `up to ${pageSize.maximum}`,
      wholeNumber(pageSize.minimum, pageSize.maximum),
      pageSize.default,
    )
    .option('--search <text>', 'a part of product name, variant name, sku or vendor; empty is none', queryText)
    .addOption(new Option('--usage <which>', 'by use in a bill').choices(usageFilter.enum).default(usageFilter.default))
    .addOption(new Option('--origin <which>', 'by origin').choices(originFilter.enum).default(originFilter.default))
    .addOption(new Option('--sort-by <field>', 'the order').choices(sortKeys).default(sortBy.default))
    .addOption(new Option('--sort-order <direction>').choices(['asc', 'desc']).default(sortOrder.default))
    .option('--vendor <name>', 'exactly; once for each of several', collect);
}

interface GivenMaterial {
  fields: NewMaterialFields;
  stock: OpenedStock;
}

/** What the options ask for; ends the command where the rules of the API refuse it. */
function readGiven(options: CreateOptions, command: Command): GivenMaterial {
  // Commander's names of the options are the names of the fields; the schema ignores the others.
  const fields = readMaterialChanges(options);
  if (!fields.ok) {
    const faults = fields.error.details?.map(({ path, message }) => `--${optionName(path)}: ${message}`);
    return command.error(`error: ${faults?.join('\n') ?? fields.error.message}`);
  }
  const opened = openStock(options.level ?? []);
  if (!opened.ok) return command.error(`error: --level: ${opened.message}`);
  return { fields: { ...fields.data, productName: options.productName }, stock: opened.stock };
}

async function create(
  context: CommandContext,
  shopId: number,
  { fields, stock }: GivenMaterial,
): Promise<Outcome<Answer>> {
  const { database } = context;
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  const locationIds = new Set((await listLocations(database, shopId)).map(({ id }) => id));
  const unknown = stock.levels.find(({ locationId }) => !locationIds.has(locationId));
  if (unknown !== undefined)
    return failed(`--level: the shop has no location ${unknown.locationId}. Add it first: locations add.`);
  const material = await add(context, shopId, fields, stock);
  const unread = `${material.id} was created; only this could not be shown.`;
  return { ok: true, value: { data: material, text: formatFields(Object.entries(flat(material))), unread } };
}

/**
 * Material and stock in one statement, so that no material is left without the stock it was created with. It is read
 * before the COMMIT: a failure afterwards would be taken for one that added nothing, and every repetition adds another.
 */
async function add(
  { database, change }: CommandContext,
  shopId: number,
  fields: NewMaterialFields,
  stock: OpenedStock,
): Promise<Material> {
  const id = virtualMaterialId(uuidv4());
  const [facetId] = await facetsOfVendors(database, shopId, [fields.vendor ?? null]);
  if (facetId === undefined) throw new Error('a vendor without a facet');
  const parameters = insertParameters(shopId, 'cli', [{ material: { id, fields, ...stock }, facetId }]);
  return change(async (transaction) => {
    await insertMaterialsWithStock(transaction, parameters);
    const material = await findMaterial(transaction, shopId, id);
    if (material === undefined) throw new Error(`${id} was created and is not there`);
    return material;
  });
}

async function list({ database }: CommandContext, options: ListOptions): Promise<Outcome<Answer>> {
  const { shop: shopId, page, pageSize, search, usage, origin, sortBy, sortOrder, vendor = [] } = options;
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  const filters = { usageFilter: usage, originFilter: origin, vendorFilter: vendor };
  const query = { page, pageSize, search, sortBy, sortOrder, ...filters };
  const { items, totalCount } = await findMaterialPage(database, shopId, query);
  const totalPages = Math.ceil(totalCount / pageSize);
  const head = ['id', 'product', 'variant', 'sku', 'vendor', 'quantity', 'unit', 'unit cost'];
  const rows = items.map((item) => [
    item.id,
    item.productName,
    item.variantName,
    item.sku,
    item.vendor,
    item.inventoryQuantity,
    item.unit,
    item.unitCost,
  ]);
  const text = `${formatTable(head, rows)}\n\n${where(page, totalPages, totalCount)}`;
  return { ok: true, value: { data: { items, totalCount, page, pageSize, totalPages }, text } };
}

/** Which part of all a page is. */
function where(page: number, totalPages: number, totalCount: number): string {
  if (totalCount === 0) return 'There are none.';
  const all = `${totalCount} in all.`;
  return page > totalPages
    ? `There is no page ${page}: the last is ${totalPages}, ${all}`
    : `Page ${page} of ${totalPages}, ${all}`;
}

function flat({ usage, ...material }: Material): Record<string, string | number | boolean | null> {
  return { ...material, ...usage };
}

/** `/unitCost` of a fault is `unit-cost` on the command line. */
function optionName(pointer: string): string {
  return pointer.slice(1).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

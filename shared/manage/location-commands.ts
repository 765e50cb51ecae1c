import type { Command } from 'commander';
import { addLocation, listLocations } from '../database/locations.js';
import { failed } from '../runtime/outcome.js';
import type { Outcome } from '../runtime/outcome.js';
import { formatTable } from './format-table.js';
import { shortText } from './option-parsers.js';
import { requireShop } from './require-shop.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';
import { addShopOption } from './shop-option.js';
import type { ShopOption } from './shop-option.js';

interface AddOptions extends ShopOption {
  id: string;
  name: string;
}

export function addLocationCommands(program: Command, run: RunCommand): void {
  const locations = program.command('locations').description('Where a shop holds stock.');
  addShopOption(locations.command('add').description('Adds a location.'))
    .requiredOption('--id <id>', "the platform's are plain digits", shortText)
    .requiredOption('--name <name>', 'up to 255 characters', shortText)
    .action((options: AddOptions) => run(options, (context) => add(context, options)));
  addShopOption(locations.command('list').description('Lists the locations of a shop.')).action((options: ShopOption) =>
    run(options, (context) => list(context, options)),
  );
}

async function add(
  { database, change }: CommandContext,
  { shop: shopId, id, name }: AddOptions,
): Promise<Outcome<Answer>> {
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  const isAdded = await change((transaction) => addLocation(transaction, shopId, { id, name }));
  if (!isAdded) {
    return failed(`Shop ${shopId} has a location ${id} already; nothing was changed.`);
  }
  const unread = `The location ${id} was added; only this could not be shown.`;
  return { ok: true, value: { data: { id, name }, text: formatTable(['id', 'name'], [[id, name]]), unread } };
}

async function list({ database }: CommandContext, { shop: shopId }: ShopOption): Promise<Outcome<Answer>> {
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  const locations = await listLocations(database, shopId);
  const rows = locations.map(({ id, name }) => [id, name, id === shop.value.defaultLocationId ? 'default' : '']);
  return { ok: true, value: { data: { locations }, text: formatTable(['id', 'name', ''], rows) } };
}

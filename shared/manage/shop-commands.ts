import { Option } from 'commander';
import type { Command } from 'commander';
import { listSyncs } from '../database/platform-syncs.js';
import type { PlatformSync } from '../database/platform-syncs.js';
import { createShop, listShops, lockShop, updateShop } from '../database/shops.js';
import type { Plan, Shop } from '../database/shops.js';
import { problemMessage } from '../mirror/sync-problems.js';
import { failed } from '../runtime/outcome.js';
import type { Failed, Outcome } from '../runtime/outcome.js';
import { formatFields, formatTable } from './format-table.js';
import { shortText, trueOrFalse, wholeNumber } from './option-parsers.js';
import { platformDomain, readPlatform } from './platform-options.js';
import type { Loopback, PlatformOptions } from './platform-options.js';
import { refuseBoth } from './refuse-both.js';
import { noShop, requireShop } from './require-shop.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';
import { addJsonOption } from './shop-option.js';

/** What `create` and `set` share; `false` is the `--no-…` form. */
interface ShopOptions extends PlatformOptions {
  json?: true;
  name?: string;
  plan?: Plan;
  allowNegative?: boolean;
  rateLimit?: number | false;
  defaultLocation?: string | false;
  platform?: false;
}

export function addShopCommands(program: Command, run: RunCommand, loopback: Loopback): void {
  const shops = program
    .command('shops')
    .description('Shops: plan, negative inventory, default location, limit, platform.');
  shopOptions(
    shops
      .command('create')
      .description('Adds a shop; unless said otherwise, with the plan enhanced and without negative inventory.'),
    loopback,
  )
    .requiredOption('--name <name>', 'up to 255 characters', shortText)
    .action((options: ShopOptions & { name: string }, command: Command) => {
      if (options.platformTokenStdin === true && options.platformDomain === undefined) {
        command.error("error: option '--platform-token-stdin' of a new shop needs its '--platform-domain'");
      }
      return run(options, (context) => create(context, options));
    });
  addJsonOption(shops.command('list').description('Lists every shop.')).action((options: ShopOptions) =>
    run(options, list),
  );
  const setting = shopOptions(
    shops.command('set').description('Changes what is given of a shop, and nothing else.'),
    loopback,
  )
    .argument('<shop>', "the shop's id", wholeNumber(1))
    .option('--name <name>', 'up to 255 characters', shortText)
    .option('--default-location <id>', 'where a written inventoryQuantity is booked', shortText)
    .option('--no-default-location', 'a written inventoryQuantity is refused')
    .option('--no-rate-limit', 'RATE_LIMIT_POINTS of the API again')
    .addOption(
      new Option('--no-platform', 'forgets domain and token').conflicts(['platformDomain', 'platformTokenStdin']),
    )
    .action((shopId: number, options: ShopOptions, command: Command) => {
      if (!isAnyChangeGiven(command)) command.error('error: nothing to change was given');
      return run(options, (context) => set(context, shopId, options));
    });
  refuseBoth(setting, 'default-location');
  refuseBoth(setting, 'rate-limit');
}

function shopOptions(command: Command, loopback: Loopback): Command {
  command
    .addOption(new Option('--plan <plan>', 'REST needs enhanced').choices(['basic', 'enhanced']))
    .option('--allow-negative <true|false>', 'whether a level may go below zero', trueOrFalse)
    .option('--rate-limit <requests>', 'requests in a window, in place of RATE_LIMIT_POINTS of the API', wholeNumber(1))
    .option('--platform-domain <domain>', 'as my-shop.myshopify.com', platformDomain(loopback))
    .option('--platform-token-stdin', 'reads the platform token from stdin; else from PLATFORM_TOKEN');
  return addJsonOption(command);
}

function isAnyChangeGiven(command: Command): boolean {
  const names = command.options.map((option) => option.attributeName());
  return names.some((name) => name !== 'json' && command.getOptionValueSource(name) === 'cli');
}

async function create(context: CommandContext, options: ShopOptions & { name: string }): Promise<Outcome<Answer>> {
  const platform = await readPlatform(context, options, null);
  if (!platform.ok) return platform;
  const { name, plan = 'enhanced', allowNegative = false, rateLimit } = options;
  // One transaction, since the token is sealed for the id that is drawn in it.
  return context.change(async (transaction) => {
    const limit = rateLimit === undefined || rateLimit === false ? {} : { rateLimitPoints: rateLimit };
    const shop = await createShop(transaction, { name, plan, allowNegativeInventory: allowNegative, ...limit });
    if (platform.value === undefined) return answer(shop, 'created');
    const updated = await updateShop(transaction, shop.id, { platform: platform.value(shop.id) });
    if (!updated.ok) throw new Error(`a shop that was just created is gone: ${updated.error}`);
    return answer(updated.shop, 'created');
  });
}

async function list({ database }: CommandContext): Promise<Outcome<Answer>> {
  const syncs = await listSyncs(database);
  const shops = (await listShops(database)).map((shop) => ({ ...view(shop), sync: viewSync(syncs.get(shop.id)) }));
  const head = ['id', 'name', 'plan', 'negative', 'default location', 'limit', 'platform', 'synced', 'last problem'];
  const rows = shops.map((shop) => [
    shop.id,
    shop.name,
    shop.plan,
    shop.allowNegativeInventory,
    shop.defaultLocationId,
    shop.rateLimitPoints,
    shop.platform?.domain,
    shop.sync?.syncedAt,
    shop.sync?.problem?.message,
  ]);
  return { ok: true, value: { data: { shops }, text: formatTable(head, rows) } };
}

async function set(context: CommandContext, shopId: number, options: ShopOptions): Promise<Outcome<Answer>> {
  const shop = await requireShop(context.database, shopId);
  if (!shop.ok) return shop;
  const connect = await readPlatform(context, options, shop.value.platform);
  if (!connect.ok) return connect;
  const { name, plan, allowNegative, rateLimit, defaultLocation } = options;
  const platform = options.platform === false ? null : connect.value?.(shopId);
  const changes = {
    name,
    plan,
    allowNegativeInventory: allowNegative,
    rateLimitPoints: rateLimit === false ? null : rateLimit,
    defaultLocationId: defaultLocation === false ? null : defaultLocation,
    platform,
  };
  const keptDomain = options.platformDomain === undefined ? platform?.domain : undefined;
  return context.change(async (transaction) => {
    if (keptDomain !== undefined) {
      // While a person pasted the token, another one may have connected the shop otherwise, which this would undo.
      const now = await lockShop(transaction, shopId);
      if (now?.platform?.domain !== keptDomain) return isNoLonger(shopId, keptDomain);
    }
    const updated = await updateShop(transaction, shopId, changes);
    if (updated.ok) return answer(updated.shop, 'changed');
    if (updated.error === 'unknown-shop') return noShop(shopId);
    return failed(`The shop has no location ${String(defaultLocation)}. Add it first: locations add.`);
  });
}

function isNoLonger(shopId: number, domain: string): Failed {
  return failed(`Shop ${shopId} is not connected to ${domain} any more, whose token this is; nothing was changed.`);
}

/** As shown: never the token, sealed or not. */
function view(shop: Shop): Omit<Shop, 'platform'> & { platform: { domain: string } | null } {
  return { ...shop, platform: shop.platform === null ? null : { domain: shop.platform.domain } };
}

/** How the mirror of the platform stands, as operators see it. */
interface SyncView {
  /** When the last completed run ended. */
  syncedAt: string | null;
  isRunning: boolean;
  /** What went wrong last, until a run is completed, or interrupted without a problem. */
  problem: { code: string; message: string; at: string | null } | null;
}

/** Null for a shop that was never tried. */
function viewSync(sync: PlatformSync | undefined): SyncView | null {
  if (sync === undefined) return null;
  const { syncedAt, problem: code, problemAt: at, isRunning } = sync;
  return { syncedAt, isRunning, problem: code === null ? null : { code, message: problemMessage(code), at } };
}

function answer(shop: Shop, done: 'created' | 'changed'): Outcome<Answer> {
  const data = view(shop);
  const text = formatFields([
    ['id', data.id],
    ['name', data.name],
    ['plan', data.plan],
    ['negative inventory', data.allowNegativeInventory],
    ['default location', data.defaultLocationId],
    ['limit of its own', data.rateLimitPoints],
    ['platform', data.platform?.domain],
  ]);
  return { ok: true, value: { data, text, unread: `Shop ${shop.id} was ${done}; only this could not be shown.` } };
}

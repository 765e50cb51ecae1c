import { Option } from 'commander';
import type { Command } from 'commander';
import { expireKey, insertKey, listKeys, lockKey, revokeKey } from '../database/api-keys.js';
import type { KeyScope, ListedKey } from '../database/api-keys.js';
import { mintKey } from '../keys/api-key-format.js';
import { failed } from '../runtime/outcome.js';
import type { Failed, Outcome } from '../runtime/outcome.js';
import { formatFields, formatTable } from './format-table.js';
import type { Cell } from './format-table.js';
import { duration, futureMoment, shortText } from './option-parsers.js';
import { refuseBoth } from './refuse-both.js';
import { requireShop } from './require-shop.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';
import { addShopOption } from './shop-option.js';
import type { ShopOption } from './shop-option.js';

interface IssueOptions extends ShopOption {
  label: string;
  scope: KeyScope;
  expires?: Date;
}

interface RotateOptions extends ShopOption {
  /** Milliseconds. */
  overlap: number;
  /** `false` is --no-expires. */
  expires?: Date | false;
}

const overlapDefaultMs = 86_400_000;
const overlapDaysMax = 90;

export function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = program.command('keys').description('API keys of a shop.');
  addShopOption(keys.command('issue').description('Makes a key and shows it, this once: it is not stored.'))
    .requiredOption('--label <text>', 'whose or what for', shortText)
    .addOption(new Option('--scope <scope>', 'write includes read').choices(['read', 'write']).makeOptionMandatory())
    .option('--expires <moment>', 'the day (UTC) or moment that it ends, as 2027-01-31; without, never', futureMoment)
    .action((options: IssueOptions) => run(options, (context) => issue(context, options)));
  addShopOption(
    keys.command('list').description('Lists the keys, the revoked and expired included; never a secret.'),
  ).action((options: ShopOption) => run(options, (context) => list(context, options)));
  const rotating = addShopOption(
    keys.command('rotate').description('Makes a key in place of another one, which works on for a while.'),
  )
    .argument('<key>', "the old key's id: its 12 characters after rmk_")
    .addOption(
      new Option('--overlap <time>', 'how long the old key works on, as 90m, 24h or 7d')
        .default(overlapDefaultMs, '24h')
        .argParser(duration(overlapDaysMax)),
    )
    .option(
      '--expires <moment>',
      'when the new key ends; without, never. Must be said, this or --no-expires, where the old one ends',
      futureMoment,
    )
    .option('--no-expires', 'the new key never ends, though the old one does')
    .action((keyId: string, options: RotateOptions) => run(options, (context) => rotate(context, keyId, options)));
  refuseBoth(rotating, 'expires');
  addShopOption(keys.command('revoke').description('Ends a key for good, everywhere within a second.'))
    .argument('<key>', "the key's id: its 12 characters after rmk_")
    .action((keyId: string, options: ShopOption) => run(options, (context) => revoke(context, keyId, options)));
}

async function issue({ database, change }: CommandContext, options: IssueOptions): Promise<Outcome<Answer>> {
  const { shop: shopId, label, scope, expires = null } = options;
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  const { key, id, secretHash } = mintKey();
  const made = { id, label, scope, secretHash, expiresAt: expires };
  const stored = await change((transaction) => insertKey(transaction, shopId, made));
  return {
    ok: true,
    value: { data: { key, ...stored }, text: describeNew(key, stored), unread: unreadKey(shopId, id) },
  };
}

async function list({ database }: CommandContext, { shop: shopId }: ShopOption): Promise<Outcome<Answer>> {
  const shop = await requireShop(database, shopId);
  if (!shop.ok) return shop;
  const keys = await listKeys(database, shopId);
  const rows = keys.map((key) => fieldsOf(key).map(([, value]) => value));
  return { ok: true, value: { data: { keys }, text: formatTable(heads, rows) } };
}

/** The new key has the label and scope of the old. Refused if nothing would be gained, or an expiry silently lost. */
async function rotate({ change }: CommandContext, keyId: string, options: RotateOptions): Promise<Outcome<Answer>> {
  const { shop: shopId, overlap, expires } = options;
  const wanted = expires instanceof Date ? expires : null;
  const now = new Date();
  return change(async (transaction) => {
    const old = await lockKey(transaction, shopId, keyId);
    if (old === undefined) return noKey(shopId);
    const { label, scope, expiresAt, revokedAt } = old;
    if (revokedAt !== null || (expiresAt !== null && expiresAt <= now)) {
      return failed('This key does not work any more, so there is nothing to rotate. See: keys issue');
    }
    if (expiresAt !== null && expires === undefined) {
      return failed(
        `This key ends at ${expiresAt.toISOString()}: because it was made so, or since it was rotated before.\n` +
          'Say when the new one ends: --expires <moment>, or --no-expires.',
      );
    }
    const { key, id, secretHash } = mintKey();
    const stored = await insertKey(transaction, shopId, { id, label, scope, secretHash, expiresAt: wanted });
    const expired = await expireKey(transaction, shopId, keyId, new Date(now.getTime() + overlap));
    // By the clock of this machine alone, an API whose clock is behind would go on taking it.
    const revoked = overlap === 0 ? await revokeKey(transaction, shopId, keyId, now) : undefined;
    const replaced = revoked ?? expired;
    const end = replaced.expiresAt?.toISOString() ?? '';
    const state = `The old one, ${keyId}, ${overlap === 0 ? 'does not work any more' : `works until ${end}`}`;
    const text = `${describeNew(key, stored)}\n${state}${overlap === 0 ? '' : '; keys revoke ends it at once'}.`;
    const unread = `${unreadKey(shopId, id)}\n${state}; keys issue makes another.`;
    return { ok: true, value: { data: { key, ...stored, replaces: replaced }, text, unread } };
  });
}

/** The argument is not repeated: somebody will paste the whole key, and this may end in a log. */
function noKey(shopId: number): Failed {
  return failed(
    `Shop ${shopId} has no key of this id. An id is the 12 characters after rmk_. See: keys list --shop ${shopId}`,
  );
}

/** Said of a key that works but that nobody has seen. */
function unreadKey(shopId: number, id: string): string {
  return `The key ${id} was made, and could not be shown. End it: keys revoke --shop ${shopId} ${id}`;
}

function describeNew(key: string, stored: ListedKey): string {
  return `${formatFields([['key', key], ...fieldsOf(stored)])}\n\nThis is the only time the key is shown.`;
}

async function revoke(
  { change }: CommandContext,
  keyId: string,
  { shop: shopId }: ShopOption,
): Promise<Outcome<Answer>> {
  const key = await change((transaction) => revokeKey(transaction, shopId, keyId, new Date()));
  if (key === undefined) return noKey(shopId);
  const unread = `The key ${keyId} was revoked; only this could not be shown.`;
  return { ok: true, value: { data: key, text: formatFields(fieldsOf(key)), unread } };
}

const heads = ['id', 'label', 'scope', 'created', 'last used', 'expires', 'revoked'];

function fieldsOf(key: ListedKey): [string, Cell][] {
  const { id, label, scope, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const values = [id, label, scope, ...[createdAt, lastUsedAt, expiresAt, revokedAt].map((at) => at?.toISOString())];
  return heads.map((head, index) => [head, values[index]]);
}

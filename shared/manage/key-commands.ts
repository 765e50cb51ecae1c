import { Option, type Command } from 'commander';
import { insertKey, listKeys, revokeKey } from '../database/api-keys.js';
import type { KeyScope, ListedKey } from '../database/api-keys.js';
import { findShop } from '../database/shops.js';
import { mintKey } from '../keys/api-key-format.js';
import { failed, type Outcome } from '../standalone/outcome.js';
import { formatFields, formatTable } from './format-table.js';
import type { Cell } from './format-table.js';
import { moment, shortText, wholeNumber } from './option-parsers.js';
import type { Answer, CommandContext, RunCommand } from './run-command.js';

interface ShopOption {
  json?: true;
  shop: number;
}

interface IssueOptions extends ShopOption {
  label: string;
  scope: KeyScope;
  expires?: Date;
}

export function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = program.command('keys').description('API keys of a shop.');
  shopOption(keys.command('issue').description('Makes a key and shows it, this once: it is not stored.'))
    .requiredOption('--label <text>', 'whose or what for', shortText(255))
    .addOption(new Option('--scope <scope>', 'write includes read').choices(['read', 'write']).makeOptionMandatory())
    .option('--expires <moment>', 'a day or a moment; without, never', moment)
    .action((options: IssueOptions) => run(options, (context) => issue(context, options)));
  shopOption(
    keys.command('list').description('Lists the keys, the revoked and expired included; never a secret.'),
  ).action((options: ShopOption) => run(options, (context) => list(context, options)));
  shopOption(keys.command('revoke').description('Ends a key for good, everywhere within a second.'))
    .argument('<key>', "the key's id: its 12 characters after rmk_")
    .action((keyId: string, options: ShopOption) => run(options, (context) => revoke(context, keyId, options)));
}

function shopOption(command: Command): Command {
  return command
    .requiredOption('--shop <id>', "the shop's id", wholeNumber(1))
    .option('--json', 'one JSON document on stdout');
}

async function issue({ database }: CommandContext, options: IssueOptions): Promise<Outcome<Answer>> {
  const { shop: shopId, label, scope, expires = null } = options;
  if ((await findShop(database, shopId)) === undefined) return failed(`There is no shop ${shopId}.`);
  if (expires !== null && expires.getTime() <= Date.now()) return failed('--expires lies in the past.');
  const { key, id, secretHash } = mintKey();
  const stored = await insertKey(database, shopId, { id, label, scope, secretHash, expiresAt: expires });
  const text = `${formatFields([['key', key], ...fieldsOf(stored)])}\n\nThis is the only time the key is shown.`;
  return { ok: true, value: { data: { key, ...stored }, text } };
}

async function list({ database }: CommandContext, { shop: shopId }: ShopOption): Promise<Outcome<Answer>> {
  if ((await findShop(database, shopId)) === undefined) return failed(`There is no shop ${shopId}.`);
  const keys = await listKeys(database, shopId);
  const rows = keys.map((key) => fieldsOf(key).map(([, value]) => value));
  return { ok: true, value: { data: { keys }, text: formatTable(heads, rows) } };
}

async function revoke(
  { database }: CommandContext,
  keyId: string,
  { shop: shopId }: ShopOption,
): Promise<Outcome<Answer>> {
  const key = await revokeKey(database, shopId, keyId, new Date());
  // The argument is not repeated: somebody will paste the whole key, and this may end in a log.
  if (key === undefined) return failed(`Shop ${shopId} has no key of this id. See: keys list --shop ${shopId}`);
  return { ok: true, value: { data: key, text: formatFields(fieldsOf(key)) } };
}

const heads = ['id', 'label', 'scope', 'created', 'last used', 'expires', 'revoked'];

function fieldsOf(key: ListedKey): [string, Cell][] {
  const { id, label, scope, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const values = [id, label, scope, ...[createdAt, lastUsedAt, expiresAt, revokedAt].map((at) => at?.toISOString())];
  return heads.map((head, index) => [head, values[index]]);
}

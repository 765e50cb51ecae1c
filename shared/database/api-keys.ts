import type { Database } from './connect.js';
import { runReadCommitted } from './read-committed.js';
import { readRows } from './read-rows.js';
import { shopColumns, toShop } from './shops.js';
import type { Shop, ShopRow } from './shops.js';
import { commitsAsync } from './async-commit.js';

/** `write` includes read (contract §5). */
export type KeyScope = 'read' | 'write';

/** What is stored of a key, as it may be shown to people: neither the key nor its hash. */
export interface StoredKey {
  id: string;
  shopId: number;
  scope: KeyScope;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** At most a minute behind. */
  lastUsedAt: Date | null;
}

export interface KeyWithShop extends StoredKey {
  secretHash: Buffer;
  shop: Shop;
}

export interface ListedKey extends StoredKey {
  label: string;
  createdAt: Date;
}

export interface NewKey {
  id: string;
  label: string;
  scope: KeyScope;
  secretHash: Buffer;
  expiresAt: Date | null;
}

/**
 * The key and its shop, in one query, because every request whose key is not cached waits for it. Expired and revoked
 * keys are found too: the caller judges them by its own clock.
 */
export async function findKeyWithShop(database: Database, keyId: string): Promise<KeyWithShop | undefined> {
  const [row] = await readRows<KeyRow & ShopRow & { secret_hash: Buffer }>(
    database,
    `SELECT ${keyColumns}, k.secret_hash, ${shopColumns}
     FROM api_keys k JOIN shops s ON s.id = k.shop_id WHERE k.id = :keyId`,
    { keyId },
  );
  return row && { ...toStoredKey(row), secretHash: row.secret_hash, shop: toShop(row) };
}

/**
 * Notes a use, but writes a key's row at most once a minute, however many processes there are (contract §5). If another
 * session holds the row, it does nothing: a use that is not noted does no harm, but a wait would. All requests of a
 * process look up their keys over three connections, and each of these would wait here for a session that changed keys
 * and did not commit, with one more session left in Postgres for every key and minute.
 */
export async function touchKey(database: Database, keyId: string, at: Date): Promise<void> {
  await runReadCommitted(
    database,
    `UPDATE api_keys SET last_used_at = :at
     WHERE ${commitsAsync} AND id = (
       SELECT id FROM api_keys
       WHERE id = :keyId AND (last_used_at IS NULL OR last_used_at <= CAST(:at AS timestamptz) - interval '1 minute'
                              OR last_used_at > statement_timestamp() + interval '1 minute')
       FOR NO KEY UPDATE SKIP LOCKED)`,
    { keyId, at },
  );
}

/** The shop must exist. The key's id is random (one of 62¹²), so it is not checked to be new. */
export async function insertKey(database: Database, shopId: number, key: NewKey): Promise<ListedKey> {
  const { rows } = await database.raw<{ rows: ListedKeyRow[] }>(
    `INSERT INTO api_keys AS k (id, shop_id, label, scope, secret_hash, expires_at) VALUES (?, ?, ?, ?, ?, ?)
     RETURNING ${listedKeyColumns}`,
    [key.id, shopId, key.label, key.scope, key.secretHash, key.expiresAt],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an insert of a key returned no row');
  return toListedKey(row);
}

/** All keys of the shop, also revoked and expired ones, oldest first. */
export async function listKeys(database: Database, shopId: number): Promise<ListedKey[]> {
  const { rows } = await database.raw<{ rows: ListedKeyRow[] }>(
    `SELECT ${listedKeyColumns} FROM api_keys k WHERE k.shop_id = ? ORDER BY k.created_at, k.id`,
    [shopId],
  );
  return rows.map(toListedKey);
}

/**
 * Revokes a key for good. One that was revoked before keeps the time of that.
 *
 * @returns the key as it is now, or undefined if the shop has none of this id
 */
export async function revokeKey(
  database: Database,
  shopId: number,
  keyId: string,
  at: Date,
): Promise<ListedKey | undefined> {
  const rows = await runReadCommitted<ListedKeyRow>(
    database,
    `UPDATE api_keys AS k SET revoked_at = coalesce(k.revoked_at, :at) WHERE k.shop_id = :shopId AND k.id = :keyId
     RETURNING ${listedKeyColumns}`,
    { shopId, keyId, at },
  );
  return rows[0] && toListedKey(rows[0]);
}

/** Finds a key of the shop and locks it until the transaction ends, so that it can be looked at and then changed. */
export async function lockKey(transaction: Database, shopId: number, keyId: string): Promise<ListedKey | undefined> {
  const { rows } = await transaction.raw<{ rows: ListedKeyRow[] }>(
    `SELECT ${listedKeyColumns} FROM api_keys k WHERE k.shop_id = ? AND k.id = ? FOR NO KEY UPDATE`,
    [shopId, keyId],
  );
  return rows[0] && toListedKey(rows[0]);
}

/** Lets a key expire at `at`, unless it already expires earlier. The shop must have it. */
export async function expireKey(database: Database, shopId: number, keyId: string, at: Date): Promise<ListedKey> {
  // least() ignores NULL, which means never.
  const { rows } = await database.raw<{ rows: ListedKeyRow[] }>(
    `UPDATE api_keys AS k SET expires_at = least(k.expires_at, ?) WHERE k.shop_id = ? AND k.id = ?
     RETURNING ${listedKeyColumns}`,
    [at, shopId, keyId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a key that was to expire is not there');
  return toListedKey(row);
}

/** Of `api_keys k`, read by `toStoredKey`; prefixed, since they stand beside a shop's columns. */
const keyColumns = `k.id AS key_id, k.shop_id AS key_shop_id, k.scope AS key_scope, k.expires_at AS key_expires_at,
  k.revoked_at AS key_revoked_at, k.last_used_at AS key_last_used_at`;

/** What is read by `toListedKey`. */
const listedKeyColumns = `${keyColumns}, k.label, k.created_at`;

interface KeyRow {
  key_id: string;
  key_shop_id: number;
  key_scope: KeyScope;
  key_expires_at: Date | null;
  key_revoked_at: Date | null;
  key_last_used_at: Date | null;
}

type ListedKeyRow = KeyRow & { label: string; created_at: Date };

function toStoredKey(row: KeyRow): StoredKey {
  return {
    id: row.key_id,
    shopId: row.key_shop_id,
    scope: row.key_scope,
    expiresAt: row.key_expires_at,
    revokedAt: row.key_revoked_at,
    lastUsedAt: row.key_last_used_at,
  };
}

function toListedKey(row: ListedKeyRow): ListedKey {
  return { ...toStoredKey(row), label: row.label, createdAt: row.created_at };
}

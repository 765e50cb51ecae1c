import type { Database } from '../../../shared/database/connect.js';
import type { SentRow } from '../history/history.js';
import { request } from '../http/http.js';
import type { Answer } from '../http/http.js';
import type { TestShop } from './shop.js';

export interface ChangeOptions {
  /** The shop's first when it is not given. */
  materialId?: string;
  /** The Idempotency-Key. */
  idempotencyKey?: string;
  deadlineMs?: number;
}

/** PATCH …/inventory with these rows, by the shop's write key. */
export function adjust(
  baseUrl: string,
  shop: TestShop,
  rows: (SentRow & { reason?: string })[],
  { materialId = shop.materialIds[0] ?? '', idempotencyKey, deadlineMs }: ChangeOptions = {},
): Promise<Answer> {
  return request(baseUrl, {
    method: 'PATCH',
    path: `/v1/raw-materials/${materialId}/inventory`,
    key: shop.writeKey,
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    body: { updates: rows },
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
}

/** Adds one unit at the shop's first location. */
export function addOne(baseUrl: string, shop: TestShop, options: ChangeOptions = {}): Promise<Answer> {
  return adjust(baseUrl, shop, [{ locationId: shop.locationIds[0] ?? '', delta: 1 }], options);
}

/** The total of a material as Postgres has it. */
export async function totalOf(database: Database, shop: TestShop, materialId = shop.materialIds[0]): Promise<number> {
  const { rows } = await database.raw<{ rows: { total: string }[] }>(
    'SELECT total_quantity AS total FROM stock WHERE shop_id = ? AND material_id = ?',
    [shop.shopId, materialId ?? ''],
  );
  return Number(rows[0]?.total);
}

/** How an operation stands on record; undefined where it does not. */
export async function recordOf(database: Database, operationId: string): Promise<string | undefined> {
  const { rows } = await database.raw<{ rows: { status: string }[] }>('SELECT status FROM operations WHERE op_id = ?', [
    operationId,
  ]);
  return rows[0]?.status;
}

import type { Database } from '../../../shared/database/connect.js';

/**
 * Takes a table away while `use` runs, as a fault of ours would: a query that names it fails in Postgres, and it is
 * neither the client's fault nor one that passes.
 */
export async function withoutTable<T>(database: Database, table: string, use: () => Promise<T>): Promise<T> {
  await database.raw('ALTER TABLE ?? RENAME TO ??', [table, `${table}_away`]);
  try {
    return await use();
  } finally {
    await database.raw('ALTER TABLE ?? RENAME TO ??', [`${table}_away`, table]);
  }
}

/** Holds a table so that no one else can even read it while `use` runs: Postgres is there, and does not answer. */
export function withLockedTable<T>(database: Database, table: string, use: () => Promise<T>): Promise<T> {
  return database.transaction(async (transaction) => {
    await transaction.raw('LOCK TABLE ?? IN ACCESS EXCLUSIVE MODE', [table]);
    return use();
  });
}

/** Holds a material's row of stock, which is its lock, while `use` runs: a worker cannot come to it. */
export function withLockedMaterial<T>(
  database: Database,
  { shopId, materialId }: { shopId: number; materialId: string },
  use: () => Promise<T>,
): Promise<T> {
  return database.transaction(async (transaction) => {
    await transaction.raw('SELECT 1 FROM stock WHERE shop_id = ? AND material_id = ? FOR UPDATE', [shopId, materialId]);
    return use();
  });
}

/**
 * Makes every write of a shop's rows to a table fail inside of Postgres while `use` runs, as a poisonous operation
 * would, or with the SQLSTATE that is given.
 */
export async function withFailingWrites<T>(
  database: Database,
  { table, shopId, sqlState = 'P0001' }: { table: 'ledger' | 'materials'; shopId: number; sqlState?: string },
  use: () => Promise<T>,
): Promise<T> {
  await database.raw(`
    CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'secret detail of the inside' USING ERRCODE = '${sqlState}'; END $$;
    CREATE TRIGGER refuse_write BEFORE INSERT OR UPDATE ON ${table}
    FOR EACH ROW WHEN (NEW.shop_id = ${String(shopId)}) EXECUTE FUNCTION refuse_write()`);
  try {
    return await use();
  } finally {
    await database.raw(`DROP TRIGGER refuse_write ON ${table}; DROP FUNCTION refuse_write()`);
  }
}

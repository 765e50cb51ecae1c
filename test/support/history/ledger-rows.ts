import type { Database } from '../../../shared/database/connect.js';
import { fromDecimal } from '../../../shared/domain/quantity.js';
import { groupBy } from '../group-by.js';

/** A row of the ledger, in millionths. */
export interface LedgerRow {
  locationId: string;
  sequence: number;
  operationId: string;
  rowIndex: number;
  delta: number | undefined;
  absolute: number | undefined;
  previous: number;
  applied: number;
  level: number;
  reference: string | null;
}

export interface LedgerOperation {
  id: string;
  reference: string | null;
  /** In the order of the request. */
  rows: LedgerRow[];
  /** The material's total after it, in millionths, once it has been replayed. */
  totalAfter: number | undefined;
}

export interface MaterialLedger {
  operations: LedgerOperation[];
  /** By location, in the order of the sequence. */
  levels: Map<string, LedgerRow[]>;
}

interface Row {
  material_id: string;
  location_id: string;
  sequence: string;
  op_id: string;
  row_index: number;
  requested_delta: string | null;
  requested_absolute: string | null;
  previous: string;
  applied: string;
  level_after: string;
  reference: string | null;
}

/** The whole ledger of a shop, by material. */
export async function readLedger(database: Database, shopId: number): Promise<Map<string, MaterialLedger>> {
  const { rows } = await database.raw<{ rows: Row[] }>(
    `SELECT levels.material_id, levels.location_id, ledger.sequence, ledger.op_id, ledger.row_index,
            ledger.requested_delta, ledger.requested_absolute, ledger.previous, ledger.applied, ledger.level_after,
            ledger.reference
     FROM ledger JOIN levels ON levels.shop_id = ledger.shop_id AND levels.id = ledger.level_id
     WHERE ledger.shop_id = ? ORDER BY levels.material_id, levels.location_id, ledger.sequence`,
    [shopId],
  );
  return new Map([...groupBy(rows, (row) => row.material_id)].map(([materialId, own]) => [materialId, toLedger(own)]));
}

function toLedger(rows: Row[]): MaterialLedger {
  const all = rows.map((row): LedgerRow => {
    const { requested_delta: delta, requested_absolute: absolute } = row;
    return {
      locationId: row.location_id,
      sequence: Number(row.sequence),
      operationId: row.op_id,
      rowIndex: row.row_index,
      delta: delta === null ? undefined : fromDecimal(delta),
      absolute: absolute === null ? undefined : fromDecimal(absolute),
      previous: fromDecimal(row.previous),
      applied: fromDecimal(row.applied),
      level: fromDecimal(row.level_after),
      reference: row.reference,
    };
  });
  const operations = [...groupBy(all, ({ operationId }) => operationId)].map(([id, own]): LedgerOperation => ({
    id,
    reference: own[0]?.reference ?? null,
    rows: own.toSorted((one, other) => one.rowIndex - other.rowIndex),
    totalAfter: undefined,
  }));
  return { operations, levels: groupBy(all, ({ locationId }) => locationId) };
}
